//! The running turn within a Conversation's state, and the batch that is on its way to the Journal.

use std::sync::Arc;

use crate::{
    policy::outcome::Ending,
    ports::journal::{Batch, NewMessage},
    vocabulary::{Author, Body, Delta, Hop, MessageId, Piece, ProviderId, Timestamp, TurnId, Usage, merge},
};

use super::{
    effect::{Begun, Published},
    event::{Idempotency, Ticket},
};

/// A turn from its admission to its terminal frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub id: TurnId,
    pub message: MessageId,
    pub speaker: Author,
    pub provider_name: String,
    pub model: (ProviderId, String),
    pub hop: Hop,
    /// The reply's place in the transcript.
    pub position: i64,
    /// The fold of everything that was handed to the Journal, the batch in flight included.
    pub body: Body,
    /// Arrived while a batch was in flight.
    pub pending: Vec<Delta>,
    /// Who waits for `pending` to be durable.
    pub ack: Option<Ticket>,
    pub usage: Option<Usage>,
    /// Set when the task is over and the finish is still to be stored.
    pub ending: Option<Ending>,
    pub abort_waiters: Vec<Ticket>,
    /// Under which key it was asked for: a repeat joins it.
    pub idempotency: Option<Idempotency>,
    /// Who waits for the admission: the one that asked, and repeats of it.
    pub begin_waiters: Vec<Ticket>,
    /// The Conversation's cursor before the turn's first frame.
    pub cursor: u64,
    /// What leaves the transcript with the reply's first Part.
    pub supersedes: Vec<MessageId>,
    /// Answers an earlier Player Message anew.
    pub regenerated: bool,
    /// When the fold was last stored apart from the Journal.
    pub checkpointed: Timestamp,
    pub checkpoint_due: bool,
}

impl Turn {
    pub fn absorb(&mut self, deltas: Vec<Delta>) {
        merge(&mut self.pending, deltas);
    }

    pub fn begun(&self) -> Begun {
        Begun { turn: self.id, message: self.message, cursor: self.cursor }
    }

    /// Gives what is pending its places.
    pub fn place_pending(&mut self) -> Vec<Piece> {
        let deltas = std::mem::take(&mut self.pending);
        let mut pieces = Vec::with_capacity(deltas.len());
        for delta in deltas {
            for piece in self.body.place(delta) {
                pieces.push(self.attributed(piece));
            }
        }
        pieces
    }

    /// Opaque state belongs to the Provider and model that made it, and carries their names.
    fn attributed(&mut self, piece: Piece) -> Piece {
        match piece {
            Piece::Opaque { index, mut opaque } => {
                opaque.provider_id = Some(self.model.0);
                opaque.model = Some(self.model.1.clone());
                self.body.opaque.entry(index).or_default().absorb(opaque.clone());
                Piece::Opaque { index, opaque }
            }
            piece @ Piece::Part { .. } => piece,
        }
    }
}

/// The one batch that is on its way to the Journal, and what follows from its commit.
#[derive(Debug, Clone, PartialEq)]
pub struct InFlight {
    pub batch: Batch,
    pub publish: Vec<Published>,
    pub then: Then,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Then {
    /// The turn was admitted.
    Admitted { player: Option<Arc<NewMessage>> },
    /// Pieces were stored; whoever waits may go on.
    Appended { ack: Option<Ticket> },
    /// The terminal frame was stored.
    Ended { aborted: bool },
}
