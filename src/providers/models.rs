//! Which models a Provider offers, as far as it says so: `GET {base}/models`, bounded in size and time. The many shapes
//! of that list become one.

use std::time::Duration;

use hamlet_actors::{ports::ProviderFailure, vocabulary::ErrorKind};
use reqwest::Request;
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

use super::{
    Clients, Discretion, ProviderSpec, exchange, failure,
    openai_chat::{authorize, endpoint},
    rehearsal,
};

const MAX_BODY: usize = 8 * 1024 * 1024;
const TIME: Duration = Duration::from_secs(15);

/// A model on offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedModel {
    pub id: String,
    /// Tokens, where the Provider tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_length: Option<u64>,
}

/// Asks within 15 seconds. A success with an empty list is a Provider that offers nothing.
pub async fn list_models(spec: &ProviderSpec, clients: &Clients) -> Result<Vec<ListedModel>, ProviderFailure> {
    let Some(base_url) = spec.endpoint() else {
        return Ok(vec![ListedModel { id: rehearsal::MODEL.to_owned(), context_length: None }]);
    };
    let discretion = Discretion::about(spec.api_key.clone());
    let url = endpoint(&base_url, "models");
    let client = clients.toward(&url);
    let mut get = Request::new(http::Method::GET, url);
    authorize(&mut get, spec.api_key.as_ref())?;
    let answer = async {
        let response = exchange::send(client, get, &clients.limits, &discretion).await?;
        exchange::bounded_body(response, MAX_BODY).await.map_err(exchange::unreachable)
    };
    let body = timeout(TIME, answer).await.map_err(|_| exchange::silent(TIME))??;
    read_list(&body).ok_or_else(|| {
        failure::failure(ErrorKind::Server, "the Provider answered with something that is no list of models", None)
    })
}

/// The list at `url`, for whoever has its own bound; None: there is none.
pub(super) async fn peek(clients: &Clients, base_url: &Url) -> Option<Vec<ListedModel>> {
    let url = endpoint(base_url, "models");
    let response = clients.toward(&url).get(url.clone()).send().await.ok()?.error_for_status().ok()?;
    read_list(&exchange::bounded_body(response, MAX_BODY).await.ok()?)
}

/// Reads `{data: [...]}`, `{models: [...]}` or a bare list, each entry an object or a name.
fn read_list(body: &[u8]) -> Option<Vec<ListedModel>> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let list = match &value {
        Value::Array(list) => list,
        // Ollama without any model says `"data": null`.
        Value::Object(fields) => match fields.get("data").or_else(|| fields.get("models"))? {
            Value::Array(list) => list,
            Value::Null => return Some(Vec::new()),
            _ => return None,
        },
        _ => return None,
    };
    Some(list.iter().filter_map(ListedModel::read).collect())
}

impl ListedModel {
    fn read(entry: &Value) -> Option<Self> {
        let id = entry.as_str().or_else(|| ["id", "name"].iter().find_map(|field| entry.get(field)?.as_str()))?;
        let context_length = ["context_length", "context_window", "max_model_len", "max_context_length"]
            .iter()
            .find_map(|field| entry.get(field)?.as_u64());
        Some(Self { id: id.to_owned(), context_length })
    }

    /// Whether it answers in words, by its name: lists mix in models for embeddings, speech and pictures.
    pub fn is_for_chat(&self) -> bool {
        const OTHERS: [&str; 9] =
            ["embed", "rerank", "whisper", "tts", "bge-", "moderation", "dall-e", "transcribe", "stable-diffusion"];
        let id = self.id.to_lowercase();
        !OTHERS.iter().any(|other| id.contains(other))
    }
}
