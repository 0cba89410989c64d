//! Accepts connections and serves each in a task of its own: small buffers (an idle watcher costs what it needs), no Nagle,
//! heads bounded in size and time.

use std::{convert::Infallible, net::SocketAddr, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo};
use http::Request;
use hyper::{
    body::Incoming,
    server::conn::http1::{self, UpgradeableConnection},
    service::{HttpService, service_fn},
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

use super::sliced::Sliced;

/// Bytes of a request's head at most (431), and of what waits to be written.
const BUFFER: usize = 16 * 1024;
/// For a whole head to arrive; also how long an idle connection is kept.
const HEAD_TIME: Duration = Duration::from_secs(75);
/// After an error of accept (no more file descriptors), so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stopping` is cancelled. Connections that are open then finish what they are at; the tracker holds them.
pub async fn accept(listener: TcpListener, router: Router, stopping: CancellationToken, connections: TaskTracker) {
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                connections.spawn(serve(stream, peer, router.clone(), stopping.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, peer: SocketAddr, router: Router, stopping: CancellationToken) {
    // Tokens are small writes that must not wait for each other.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the connection has gone already");
        return;
    }
    // Boxed: a task's place is rounded up to the next 128 bytes, and this one would be just over.
    let mut connection = Box::pin(speak(stream, peer, router));
    let mut told = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, %peer, "a connection ended early");
                }
                return;
            }
            () = stopping.cancelled(), if !told => {
                told = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// HTTP on one connection.
fn speak(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
) -> UpgradeableConnection<
    TokioIo<TcpStream>,
    impl HttpService<Incoming, ResBody = Sliced, Error = Infallible, Future: Send + 'static>,
> {
    let service = service_fn(move |request: Request<Incoming>| {
        let router = router.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        // Boxed, so that it is gone once it has answered: hyper keeps the place of what it polls for the connection's life.
        Box::pin(async move {
            let response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
            Ok::<_, Infallible>(response.map(Sliced::new))
        })
    });
    http1::Builder::new()
        .max_buf_size(BUFFER)
        // One copy of what is small costs less than a list of buffers: a tenth of a token's way to a tab.
        .writev(false)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
}
