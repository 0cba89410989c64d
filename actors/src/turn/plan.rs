//! Everything that a turn needs of the world outside its Conversation, resolved by the gates before it begins.

use std::{sync::Arc, time::Duration};

use super::WhenUnwatched;
use crate::{
    capability::{Passing, Scene},
    conversation::Progress,
    policy::passing::back_and_forth,
    ports::{Model, Provider},
    vocabulary::{Author, ConversationId, Grant, Npc, PlayerId, SpeakerPolicy},
};

#[derive(Debug, Clone)]
pub struct TurnPlan {
    pub npc: Npc,
    /// Everybody of the Party in its order, the speaker included.
    pub party: Arc<[Npc]>,
    pub player: Author,
    /// Who goes on when a part has ended and nobody was handed the turn.
    pub policy: SpeakerPolicy,
    /// What the speaker may call.
    pub grants: Arc<[Grant]>,
    pub model: String,
    pub provider: Arc<dyn Provider>,
    /// For titles and summaries.
    pub utility: Option<Model>,
    /// Budget of the history, in estimated tokens.
    pub window_tokens: usize,
    /// What the Player just said; None when it is in the history already.
    pub question: Option<Arc<str>>,
    /// What is being answered, wherever it stands: what memory is searched for.
    pub topic: Arc<str>,
    /// The speaker is told what was said from this place on.
    pub knows_from: i64,
    pub when_unwatched: WhenUnwatched,
    pub call_limits: CallLimits,
}

/// How long calls may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    pub run: Duration,
    /// A call that waits for somebody's yes expires after so long.
    pub approval: Duration,
}

impl TurnPlan {
    pub fn in_party(&self) -> bool {
        self.party.len() > 1
    }

    /// The part of the turn as capabilities see it.
    pub fn scene(&self, conversation: ConversationId, progress: &Progress) -> Scene {
        Scene {
            conversation,
            player: self.player.id.parse().unwrap_or(PlayerId(uuid::Uuid::nil())),
            player_name: self.player.name.clone(),
            npc: self.npc.clone(),
            party: Arc::clone(&self.party),
            grants: Arc::clone(&self.grants),
            question: Arc::clone(&self.topic),
            passing: Passing { hop: progress.hop, back_and_forth: back_and_forth(&progress.trail) },
            utility: self.utility.clone(),
        }
    }
}
