//! Requests of a client that expects the server to be gone at any moment.

use std::sync::Arc;

use hamlet_actors::vocabulary::{ConversationId, Message, MessageId, TurnId};
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
    /// Another text in place of this Message.
    Edit(MessageId),
}

impl Ask {
    pub fn request(&self, client: &Client, accept: &str) -> RequestBuilder {
        let (method, path) = match self.what {
            What::Say => (Method::POST, path(self.conversation, "messages")),
            What::Regenerate => (Method::POST, path(self.conversation, "regenerate")),
            What::Edit(message) => (Method::PATCH, format!("/api/messages/{message}")),
        };
        client
            .request(method, &path)
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
    pub running: Option<TurnId>,
    /// Texts that wait, in the order of their taking up.
    pub waiting: Vec<MessageId>,
}

impl Loaded {
    fn of(page: &Value) -> Self {
        let id = |value: &Value| value.as_str().map(|id| id.parse().unwrap());
        let turn = &page["turn"];
        let queued = turn["queue"]["items"].as_array().into_iter().flatten();
        Self {
            messages: serde_json::from_value(page["items"].clone()).unwrap(),
            cursor: page["cursor"].as_u64().unwrap(),
            running: turn["id"].as_str().map(|id| id.parse().unwrap()),
            waiting: queued.map(|item| id(&item["messageId"]).unwrap()).collect(),
        }
    }
}

/// The newest Messages.
///
/// # Errors
/// The status of a refusal; None when the server was gone.
pub async fn newest(client: &Client, conversation: ConversationId) -> Result<Loaded, Option<StatusCode>> {
    let path = path(conversation, "messages?limit=12");
    match answer(client.request(Method::GET, &path)).await.ok_or(None)? {
        (StatusCode::OK, page) => Ok(Loaded::of(&page)),
        (status, _) => Err(Some(status)),
    }
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
        let page = Loaded::of(&body);
        match &mut loaded {
            Some(loaded) => drop(loaded.messages.splice(..0, page.messages)),
            None => loaded = Some(page),
        }
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
