//! The running turn within a Conversation's state, and the batch that is on its way to the Journal.

use std::sync::Arc;

use crate::{
    policy::outcome::Ending,
    ports::journal::{Batch, NewMessage},
    vocabulary::{Author, Body, Delta, Hop, MessageId, Piece, ProviderId, Timestamp, TurnId, Usage, merge},
};

use super::{
    admission::Place,
    effect::{Begun, Published},
    event::{Begin, Idempotency, Intent, Ticket},
};

/// A turn from its admission to its terminal frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub id: TurnId,
    pub message: MessageId,
    pub speaker: Author,
    pub provider_name: String,
    pub model: (ProviderId, String),
    /// The reply's place in the transcript.
    pub position: i64,
    pub hop: Hop,
    /// The fold of everything that was handed to the Journal, the batch in flight included.
    pub body: Body,
    /// Arrived while a batch was in flight.
    pub pending: Vec<Delta>,
    /// Whether the task waits for its report to be durable.
    pub reporting: bool,
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
    /// When the fold was last stored apart from the Journal's pieces.
    pub folded_at: Timestamp,
    pub fold_due: bool,
}

impl Turn {
    pub fn absorb(&mut self, deltas: Vec<Delta>) {
        merge(&mut self.pending, deltas);
    }

    /// The turn as its admission begins it.
    pub fn admitted(place: Place<'_>, begin: Begin, reply: &NewMessage, ticket: Ticket) -> Self {
        let regenerated = matches!(begin.intent, Intent::Regenerate { .. });
        Self {
            id: begin.turn,
            message: begin.reply,
            speaker: begin.speaker,
            provider_name: begin.provider_name,
            model: begin.model,
            position: reply.position,
            hop: reply.hop,
            body: Body::default(),
            pending: Vec::new(),
            reporting: false,
            usage: None,
            ending: None,
            abort_waiters: Vec::new(),
            idempotency: begin.idempotency,
            begin_waiters: vec![ticket],
            cursor: place.cursor,
            supersedes: reply.supersedes.clone(),
            regenerated,
            folded_at: begin.now,
            fold_due: false,
        }
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
    /// Pieces were stored; the task may go on, if they are its last report.
    Appended { taken: bool },
    /// The terminal frame was stored.
    Ended { aborted: bool },
}
