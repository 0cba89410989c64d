//! One connection to one server, over either transport, from its beginning to its end.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, Fuse, FusedFuture, FutureExt};
use reqwest::redirect;
use rmcp::{
    Peer, RoleClient,
    model::ServerPeerInfo,
    service::{RunningServiceCancellationToken, ServiceExt},
    transport::{
        StreamableHttpClientTransport, async_rw::AsyncRwTransport,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use url::Url;

use super::{
    answering::Answering,
    limits::Limits,
    listener::Listener,
    process::Process,
    resolve::{Resolved, Target},
    said::Said,
    server::Server,
    words::{self, Hidden},
};
use crate::village::address;

/// Pieces of diagnostics that a server may send with an error.
const ERROR_BODY: usize = 4_096;
/// For the transport to let go of the child's stdin, or to give its session back.
const GOODBYE: Duration = Duration::from_millis(300);

/// A server that has introduced itself.
pub struct Connection {
    pub peer: Peer<RoleClient>,
    /// Comes, once, when the other side has gone.
    pub ended: Fuse<BoxFuture<'static, ()>>,
    stop: RunningServiceCancellationToken,
    process: Option<Process>,
}

impl Connection {
    /// Dropping the future on its way ends what it started.
    ///
    /// # Errors
    /// Why there is no connection, in words.
    pub async fn open(
        server: &Server,
        resolved: Resolved,
        listener: Listener,
        limits: &Limits,
    ) -> Result<Self, String> {
        let hidden = Hidden(resolved.hidden);
        match resolved.target {
            Target::Stdio { command, args, cwd, env } => {
                let said = Said::new(server.name.clone(), hidden, server.stderr.clone());
                let (mut process, stdout, stdin) = Process::start(&command, &args, cwd.as_deref(), &env, said)
                    .map_err(|error| format!("its command does not start: {error}"))?;
                let transport = AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(limits.message);
                match listener.serve(transport).await {
                    Ok(service) => Ok(Self::of(service, Some(process))),
                    Err(error) => {
                        process.last_words().await;
                        Err(words::of_start(&error))
                    }
                }
            }
            Target::Http { url, headers } => {
                let client = client(&url).map_err(|_| "TLS can't be set up".to_owned())?;
                let config = StreamableHttpClientTransportConfig::with_uri(Arc::<str>::from(url.as_str()))
                    .custom_headers(headers)
                    .max_sse_event_size(limits.message)
                    .max_json_response_size(limits.message)
                    .max_error_response_size(ERROR_BODY)
                    .reinit_on_expired_session(true);
                let transport = StreamableHttpClientTransport::with_client(Answering(client), config);
                let service = listener.serve(transport).await.map_err(|error| words::of_start(&error))?;
                Ok(Self::of(service, None))
            }
        }
    }

    fn of(service: rmcp::service::RunningService<RoleClient, Listener>, process: Option<Process>) -> Self {
        let (peer, stop) = (service.peer().clone(), service.cancellation_token());
        let ended: BoxFuture<'static, ()> = Box::pin(async move {
            if let Err(error) = service.waiting().await {
                tracing::warn!(%error, "a tool server's connection failed inside Hamlet");
            }
        });
        let ended = ended.fuse();
        Self { peer, ended, stop, process }
    }

    pub fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().and_then(Process::id)
    }

    /// Ends within [`Limits::close`], with whatever of the other side is there then.
    pub async fn close(self, limits: &Limits) {
        let Self { ended, stop, process, .. } = self;
        let closing = async {
            stop.cancel();
            if !ended.is_terminated() && tokio::time::timeout(GOODBYE, ended).await.is_err() {
                tracing::debug!("a tool server does not take its goodbye");
            }
            if let Some(process) = process {
                process.end().await;
            }
        };
        if tokio::time::timeout(limits.close, closing).await.is_err() {
            tracing::debug!("a tool server's connection was cut");
        }
    }
}

/// Redirects are off: one would take the headers and the call to whoever it names.
fn client(url: &Url) -> Result<reqwest::Client, reqwest::Error> {
    if rustls::crypto::CryptoProvider::get_default().is_none()
        && rustls::crypto::ring::default_provider().install_default().is_err()
    {
        tracing::debug!("a TLS provider was installed already");
    }
    let builder = reqwest::Client::builder()
        .user_agent(concat!("hamlet/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .tcp_keepalive(Duration::from_secs(30));
    // A proxy could not reach what is on this machine.
    let builder = if address::is_loopback(url) { builder.no_proxy() } else { builder };
    builder.build()
}
