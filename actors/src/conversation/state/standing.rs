//! What a Conversation's state looks like from outside.

use super::{Conversation, InFlight, Then};
use crate::{
    conversation::vitals::{ActorState, Phase, Standing},
    vocabulary::{Author, Delta},
};

impl Conversation {
    pub fn standing(&self) -> Standing {
        let Some(turn) = self.turn.as_deref() else {
            return Standing {
                state: self.actor_state(),
                queue: self.queue.len(),
                epoch: self.epoch,
                ..Standing::default()
            };
        };
        let phase = match turn.body.parts.is_empty() {
            _ if turn.calling => Phase::Calling,
            true => Phase::Assembling,
            false => Phase::Streaming,
        };
        Standing {
            state: self.actor_state(),
            phase: Some(phase),
            turn: Some((turn.id, turn.message)),
            step: turn.step,
            hop: turn.hop,
            queue: self.queue.len(),
            epoch: self.epoch,
        }
    }

    /// The first tool that is called.
    pub fn tool(&self) -> Option<String> {
        let turn = self.turn.as_deref().filter(|turn| turn.calling)?;
        turn.body.open_calls().first().map(|call| call.name.clone())
    }

    pub fn speaker(&self) -> Option<&Author> {
        self.turn.as_deref().map(|turn| &turn.speaker)
    }

    /// Bytes that have arrived and are not on their way to the Journal yet, about.
    pub fn pending_bytes(&self) -> usize {
        self.turn.as_deref().map_or(0, |turn| turn.pending.iter().map(Delta::bytes).sum())
    }

    fn actor_state(&self) -> ActorState {
        if !self.claimed {
            return ActorState::Recovering;
        }
        match (self.turn.as_deref(), self.in_flight.as_deref()) {
            (None, _) if self.busy_with().is_some() => ActorState::Admitting,
            (None, Some(_)) => ActorState::Committing,
            (None, None) => ActorState::Idle,
            (Some(_), Some(InFlight { then: Then::Admitted { .. }, .. })) => ActorState::Admitting,
            (Some(turn), _) if turn.ending.is_some() || self.trouble.is_some() => ActorState::Committing,
            (Some(_), _) => ActorState::Running,
        }
    }
}
