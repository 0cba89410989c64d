//! What a turn costs before its Provider is asked, by the length of the history: from the send over HTTP to the request's
//! being written. Flat is the aim, whether the window is cached or read; the first turn of a long history that has no
//! summary yet makes one.

use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

use futures_util::stream;
use hamlet_actors::{
    ports::{End, ModelRequest, Provider, ProviderEvent, ProviderEvents},
    vocabulary::{ConversationId, Delta, FinishReason, PlayerId, ProviderId},
};
use serde_json::Value;

use crate::{
    served::{Served, durable},
    wake::fill,
};

const TURNS: usize = 200;

/// Says one word at once, and notes when it was asked.
struct Prompt {
    id: ProviderId,
    asked: Mutex<Option<Instant>>,
}

impl Provider for Prompt {
    fn id(&self) -> ProviderId {
        self.id
    }

    fn name(&self) -> &str {
        "Prompt"
    }

    fn ask(&self, _request: ModelRequest) -> ProviderEvents {
        *self.asked.lock().unwrap() = Some(Instant::now());
        let said = ProviderEvent::Delta(Delta::Text("Yes.".to_owned()));
        Box::pin(stream::iter([vec![said, ProviderEvent::End(End::Complete(FinishReason::Stop))]]))
    }
}

pub async fn by_history() {
    let mut base = None;
    for messages in [10, 1_000, 10_000, 100_000] {
        let folder = tempfile::tempdir().unwrap();
        let provider = Arc::new(Prompt { id: ProviderId::generate(), asked: Mutex::default() });
        let served = Served::start(folder.path(), provider.clone(), durable()).await;
        let me: Value = served.get("/api/me").send().await.unwrap().json().await.unwrap();
        let npcs: Value = served.get("/api/npcs").send().await.unwrap().json().await.unwrap();
        let (player, npc): (PlayerId, uuid::Uuid) =
            (me["id"].as_str().unwrap().parse().unwrap(), npcs["items"][0]["id"].as_str().unwrap().parse().unwrap());
        let id = ConversationId::generate();
        served
            .app
            .store
            .write(move |conn| {
                fill(conn, player, id, messages)?;
                conn.execute(
                    "INSERT INTO participants (conversation_key, npc_id, ordinal, joined_at) \
                     SELECT key, ?2, 0, 0 FROM conversations WHERE id = ?1",
                    (id.0.as_bytes(), npc.as_bytes()),
                )?;
                Ok(())
            })
            .await
            .unwrap();
        let first = turn(&served, &provider, id).await;
        let mut warm = Vec::with_capacity(TURNS);
        let mut cold = Vec::with_capacity(TURNS);
        for _ in 0..TURNS {
            warm.push(turn(&served, &provider, id).await);
        }
        for _ in 0..TURNS {
            served.app.engine.forget(id);
            cold.push(turn(&served, &provider, id).await);
        }
        let (warm, cold) = (median(warm), median(cold));
        let (base_warm, base_cold) = *base.get_or_insert((warm, cold));
        println!(
            "{messages} messages: {warm:.2} ms to the request ({:.2} times that of 10), {cold:.2} ms with the window read \
             from the store ({:.2} times); the very first {first:.1} ms",
            warm / base_warm,
            cold / base_cold,
        );
        served.end().await;
    }
}

/// Milliseconds from the send to the request; waits for the turn's end.
async fn turn(served: &Served, provider: &Prompt, id: ConversationId) -> f64 {
    let begun = Instant::now();
    let mut stream = served.turn(&id.to_string()).await;
    while stream.chunk().await.unwrap().is_some() {}
    let asked = provider.asked.lock().unwrap().take().unwrap();
    asked.duration_since(begun).as_secs_f64() * 1000.0
}

fn median(mut took: Vec<f64>) -> f64 {
    took.sort_by(f64::total_cmp);
    took[took.len() / 2]
}
