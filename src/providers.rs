//! The Providers that this server can ask: one adapter for each wire format behind the engine's port, and the embedded
//! rehearsal. From a spec to a Provider in one place. Knows no store, no route and no Conversation.

pub mod discovery;
mod discretion;
mod exchange;
mod failure;
pub mod limits;
pub mod models;
pub mod openai_chat;
pub mod quirks;
pub mod rehearsal;
pub mod sse;

use std::sync::Arc;

use hamlet_actors::{ports::Provider, vocabulary::ProviderId};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use url::Url;

pub use self::{
    discretion::Discretion,
    limits::{Clients, Limits},
    quirks::Quirks,
};
use self::{openai_chat::OpenAiChat, rehearsal::Rehearsal};

/// Which wire format a Provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ProviderKind {
    /// OpenAI's chat completions, and whatever is compatible with them.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// The embedded Provider without a model.
    #[serde(rename = "rehearsal")]
    Rehearsal,
}

impl ProviderKind {
    /// Where a Provider of this kind is, unless its spec says otherwise; None: nowhere on a network.
    pub fn default_base_url(self) -> Option<&'static str> {
        match self {
            Self::OpenAiChat => Some("https://api.openai.com/v1"),
            Self::Rehearsal => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::Rehearsal => "rehearsal",
        }
    }
}

/// Everything that makes one Provider.
#[derive(Debug, Clone)]
pub struct ProviderSpec {
    pub id: ProviderId,
    pub name: String,
    pub kind: ProviderKind,
    /// As the operator gave it, with or without a slash at its end. None: the kind's default.
    pub base_url: Option<Url>,
    /// None: a server that asks for no key.
    pub api_key: Option<SecretString>,
    pub quirks: Quirks,
}

impl ProviderSpec {
    /// Where this Provider is asked; None for the one that is nowhere.
    pub fn endpoint(&self) -> Option<Url> {
        self.base_url.clone().or_else(|| self.kind.default_base_url().and_then(|url| Url::parse(url).ok()))
    }
}

/// A Provider, ready to be asked.
pub fn build(spec: ProviderSpec, clients: &Clients) -> Arc<dyn Provider> {
    let base_url = spec.endpoint();
    let ProviderSpec { id, name, kind, base_url: _, api_key, quirks } = spec;
    match kind {
        ProviderKind::OpenAiChat => Arc::new(OpenAiChat::new(id, name, base_url, api_key, quirks, clients.clone())),
        ProviderKind::Rehearsal => Arc::new(Rehearsal::new(id, name).at_pace(clients.limits.rehearsal_pace)),
    }
}
