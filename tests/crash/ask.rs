//! Requests of a client that expects the server to be gone at any moment.

use std::sync::Arc;

use hamlet_actors::vocabulary::{ConversationId, Message};
use hamlet_test_support::Client;
use reqwest::{Method, RequestBuilder, StatusCode, header};
use serde_json::{Value, json};

use crate::fate::{Fate, Moment};

/// The way to one life of the server, and what will end it.
#[derive(Clone)]
pub struct Door {
    pub client: Client,
    pub fate: Arc<Fate>,
}

impl Door {
    /// A server that nothing ends.
    pub fn calm(client: &Client) -> Self {
        Self { client: client.clone(), fate: Arc::new(Fate::none()) }
    }

    /// Asks, and lets the end come while the question is on its way.
    pub async fn ask(&self, moment: Moment, request: RequestBuilder) -> Option<(StatusCode, Value)> {
        let asking = tokio::spawn(answer(request));
        tokio::task::yield_now().await;
        self.fate.saw(moment);
        asking.await.unwrap()
    }
}

/// A request that begins a turn, and that can be repeated.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    pub conversation: ConversationId,
    pub what: What,
    pub key: String,
    pub body: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Say,
    Regenerate,
}

impl Ask {
    pub fn request(&self, client: &Client, accept: &str) -> RequestBuilder {
        let what = match self.what {
            What::Say => "messages",
            What::Regenerate => "regenerate",
        };
        client
            .request(Method::POST, &path(self.conversation, what))
            .header(header::ACCEPT, accept)
            .header("idempotency-key", &self.key)
            .json(&self.body)
    }
}

pub fn path(conversation: ConversationId, what: &str) -> String {
    format!("/api/conversations/{conversation}/{what}")
}

/// An answer, whole; None when the server was gone before it had come.
pub async fn answer(request: RequestBuilder) -> Option<(StatusCode, Value)> {
    let response = request.send().await.ok()?;
    let status = response.status();
    let text = response.text().await.ok()?;
    let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() };
    assert!(status != StatusCode::INTERNAL_SERVER_ERROR, "{body}");
    Some((status, body))
}

/// The transcript as a page loads it.
pub struct Loaded {
    pub messages: Vec<Message>,
    pub cursor: u64,
    /// Whether a turn runs.
    pub running: bool,
}

/// All pages of `GET .../messages`.
///
/// # Errors
/// The status of a refusal; None when the server was gone.
pub async fn load(client: &Client, conversation: ConversationId) -> Result<Loaded, Option<StatusCode>> {
    let mut loaded: Option<Loaded> = None;
    let mut before = String::new();
    loop {
        let path = path(conversation, &format!("messages?limit=50{before}"));
        let (status, body) = answer(client.request(Method::GET, &path)).await.ok_or(None)?;
        if status != StatusCode::OK {
            return Err(Some(status));
        }
        let older: Vec<Message> = serde_json::from_value(body["items"].clone()).unwrap();
        let page = loaded.get_or_insert_with(|| Loaded {
            messages: Vec::new(),
            cursor: body["cursor"].as_u64().unwrap(),
            running: !body["turn"].is_null(),
        });
        page.messages.splice(..0, older);
        match body["next"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => return loaded.ok_or(None),
        }
    }
}

/// The id of a new Conversation with the Village's first NPC; None when the server was gone.
pub async fn converse(client: &Client) -> Option<ConversationId> {
    let (_, npcs) = answer(client.request(Method::GET, "/api/npcs")).await?;
    let body = json!({"npcIds": [npcs["items"][0]["id"]]});
    let (status, made) = answer(client.request(Method::POST, "/api/conversations").json(&body)).await?;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    Some(made["id"].as_str().unwrap().parse().unwrap())
}
