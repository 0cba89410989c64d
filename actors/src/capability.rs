//! The one seam through which everything beside plain talk reaches a turn: memory, skills, the Party's hand-over, tool
//! servers, titles. A capability contributes sections and tools to one speaker's part of a turn, and may think about a
//! turn that has ended. It never writes to a Conversation: what it wants changed it returns.

pub mod party;

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

pub use crate::policy::prompt::{Place, Section, roster::Passing};
use crate::{
    ports::{Model, Tool, ToolSpec},
    vocabulary::{ConversationId, Grant, MessageStatus, Npc, PlayerId, TurnId},
};

pub trait Capability: Send + Sync + 'static {
    /// Short and stable: logs, the prompt view and errors name it so.
    fn name(&self) -> &'static str;

    /// What it has that could be granted to somebody, as far as it is known now.
    fn catalog(&self) -> Vec<Offer> {
        Vec::new()
    }

    /// What it brings to this speaker's part of a turn. All capabilities are asked at the same time, beside the commit that
    /// the first token waits for anyway; one that fails or is slow is left out and named in the prompt's note, and never
    /// stops the turn.
    fn gather(&self, scene: Arc<Scene>) -> BoxFuture<'static, Result<Contribution, CapabilityError>>;

    /// Told of each turn once its end is durable. Runs in the background, bounded in time, and not at all when Hamlet is
    /// being stopped.
    fn turn_ended(&self, _turn: Arc<PastTurn>) -> Option<BoxFuture<'static, Result<Afterthought, CapabilityError>>> {
        None
    }
}

/// What a capability may know of the part that it contributes to.
#[derive(Debug, Clone)]
pub struct Scene {
    pub conversation: ConversationId,
    pub player: PlayerId,
    /// As the NPCs know the Player.
    pub player_name: String,
    /// Who speaks.
    pub npc: Npc,
    /// Everybody of the Party in its order, the speaker included.
    pub party: Arc<[Npc]>,
    /// What the speaker may call.
    pub grants: Arc<[Grant]>,
    /// What is being answered: the Player's text, or a hand-over's message.
    pub question: Arc<str>,
    /// How far hand-overs have gone.
    pub passing: Passing,
    /// For work that needs no particular voice: titles, summaries. None when no model is set for it.
    pub utility: Option<Model>,
}

impl Scene {
    pub fn in_party(&self) -> bool {
        self.party.len() > 1
    }

    /// Whether the speaker may call any tool whose key begins so.
    pub fn may_call(&self, prefix: &str) -> bool {
        self.grants.iter().any(|grant| grant.tool.starts_with(prefix))
    }
}

/// What a capability brings.
#[derive(Debug, Default)]
pub struct Contribution {
    pub sections: Vec<Section>,
    /// All that it has; the engine leaves out what the speaker was not granted.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What could not be reached, by name: the prompt's note says so.
    pub unreachable: Vec<String>,
}

/// A turn whose terminal frame is durable.
#[derive(Debug, Clone)]
pub struct PastTurn {
    pub turn: TurnId,
    /// Of its last speaker.
    pub scene: Arc<Scene>,
    pub status: MessageStatus,
    /// What the last speaker said, its text only.
    pub reply: Arc<str>,
    /// Whether it was the first exchange of its Conversation.
    pub first: bool,
    /// The title that it stands under now.
    pub title: Option<String>,
}

/// What is to become of a Conversation because of a turn that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Afterthought {
    Nothing,
    /// A better title, unless somebody has given another one meanwhile.
    Title(String),
}

/// A tool that could be granted.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// What a [`Grant`] names it by.
    pub key: String,
    pub spec: ToolSpec,
}

/// Why a capability brings nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CapabilityError(pub String);

impl fmt::Debug for dyn Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Capability").field(&self.name()).finish()
    }
}
