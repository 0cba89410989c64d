//! Tokens a second, as fast as they are taken, beside a relay that writes each token by itself.

use std::{sync::Arc, time::Instant};

use axum::{Router, body::Body, response::IntoResponse, routing::post};
use bytes::Bytes;
use futures_util::{StreamExt, future::join_all, stream};
use hamlet::serve::MakesJournal;
use hamlet_actors::{
    ports::{End, ModelRequest, Provider, ProviderEvent, ProviderEvents},
    vocabulary::{Delta, FinishReason, ProviderId},
};

use crate::served::{Served, durable};

const STREAMS: usize = 64;
const TOKENS: usize = 2_000;
/// Tokens that arrive in one read, as they do from a Provider that is ahead.
const BURST: usize = 16;
const TOKEN: &str = "word ";

pub async fn beside_a_relay() {
    let relay = relayed().await;
    let hamlet = served(durable()).await;
    println!("relay:  {relay:>10.0} tokens/s");
    println!("hamlet: {hamlet:>10.0} tokens/s, everything parsed, folded and durable");
    println!("ratio:  {:>10.2}", hamlet / relay);
}

/// What 64 clients read a second of the server.
pub async fn served(journal: MakesJournal) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::start(folder.path(), Arc::new(Fast(ProviderId::generate())), journal).await;
    let rate = measure(server.sends(STREAMS).await).await;
    server.end().await;
    rate
}

/// Says the same tokens to everybody, as fast as they are taken.
pub struct Fast(pub ProviderId);

impl Provider for Fast {
    fn id(&self) -> ProviderId {
        self.0
    }

    fn name(&self) -> &str {
        "Fast"
    }

    fn ask(&self, _request: ModelRequest) -> ProviderEvents {
        let token = || ProviderEvent::Delta(Delta::Text(TOKEN.to_owned()));
        let bursts = (0..TOKENS / BURST).map(move |_| (0..BURST).map(|_| token()).collect());
        let end = vec![ProviderEvent::End(End::Complete(FinishReason::Stop))];
        Box::pin(stream::iter(bursts.chain([end])).then(|events| async {
            tokio::task::yield_now().await;
            events
        }))
    }
}

/// What 64 clients read a second, whoever serves.
async fn measure(requests: Vec<reqwest::RequestBuilder>) -> f64 {
    let begun = Instant::now();
    let readers = requests.into_iter().map(|request| async move {
        let mut bytes = request.send().await.unwrap().error_for_status().unwrap().bytes_stream();
        let mut words = 0;
        while let Some(chunk) = bytes.next().await {
            words += chunk.unwrap().windows(TOKEN.len()).filter(|window| *window == TOKEN.as_bytes()).count();
        }
        words
    });
    let words: usize = join_all(readers).await.into_iter().sum();
    assert!(words >= STREAMS * (TOKENS - BURST), "{words} words came");
    words as f64 / begun.elapsed().as_secs_f64()
}

async fn relayed() -> f64 {
    let line = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{TOKEN}\"}}}}]}}\n\n");
    let handler = move || {
        let line = Bytes::from(line.clone());
        async move {
            let lines = stream::iter((0..TOKENS).map(move |_| Ok::<_, std::io::Error>(line.clone())));
            Body::from_stream(lines.then(|line| async {
                tokio::task::yield_now().await;
                line
            }))
            .into_response()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, Router::new().route("/", post(handler))).await });
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let requests = (0..STREAMS).map(|_| client.post(format!("http://{address}/"))).collect();
    let rate = measure(requests).await;
    serving.abort();
    rate
}
