//! What an actor publishes of itself after each message that it handled, so that inspecting never waits on a busy one.
//! A token moves two numbers; the rest is written only when it differs. No text of the Conversation is in here.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicUsize, Ordering},
};

use serde::Serialize;
use tokio::sync::watch;

use super::{Conversation, Effect, Published};
use crate::{
    village::Mark,
    vocabulary::{Author, ErrorCode, Frame, Hop, MessageError, MessageId, Timestamp, TurnId},
};

/// What an actor is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ActorState {
    Idle,
    /// A turn's admission is being stored.
    Admitting,
    Running,
    /// The turn's end is being stored, or the store cannot commit what it has.
    Committing,
    /// The claim is being answered: what an earlier instance left running ends.
    #[default]
    Recovering,
    /// It failed too often and is not woken any more, until it is released.
    Quarantined,
    /// Nobody is awake.
    Asleep,
}

impl ActorState {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Admitting => "admitting",
            Self::Running => "running",
            Self::Committing => "committing",
            Self::Recovering => "recovering",
            Self::Quarantined => "quarantined",
            Self::Asleep => "asleep",
        }
    }

    pub const ALL: [Self; 7] = [
        Self::Idle,
        Self::Admitting,
        Self::Running,
        Self::Committing,
        Self::Recovering,
        Self::Quarantined,
        Self::Asleep,
    ];
}

/// What a running turn is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The context is gathered and the Provider asked; nothing of the reply has come.
    Assembling,
    Streaming,
    /// Calls run, or wait for somebody's yes.
    Calling,
}

impl Phase {
    /// As it is written; `tool` is the name of one that is called.
    pub fn told(self, tool: Option<&str>) -> String {
        match self {
            Self::Assembling => "assembling".to_owned(),
            Self::Streaming => "streaming".to_owned(),
            Self::Calling => format!("tool:{}", tool.unwrap_or_default()),
        }
    }
}

/// Where a Conversation stands. Compared after each message, so it holds nothing on the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    pub state: ActorState,
    pub phase: Option<Phase>,
    pub turn: Option<(TurnId, MessageId)>,
    pub step: u32,
    pub hop: Hop,
    /// Messages that wait for their turn.
    pub queue: usize,
    pub epoch: u64,
}

/// The last thing that went wrong, in words that quote nobody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastError {
    pub code: ErrorCode,
    pub message: String,
    pub at: Timestamp,
}

/// What changes a few times in a turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Vital {
    pub standing: Standing,
    /// When the turn was admitted.
    pub since: Timestamp,
    pub speaker: Option<Author>,
    /// The name of the first tool that is called.
    pub tool: Option<String>,
    pub last_error: Option<LastError>,
}

/// One instance's published state. Written by its actor, read by anybody.
#[derive(Debug)]
pub struct Vitals {
    vital: watch::Sender<Vital>,
    /// Milliseconds since 1970; 0 before the first message.
    heard_at: AtomicI64,
    pending_bytes: AtomicUsize,
    mark: Arc<Mark>,
}

impl Vitals {
    pub fn new(mark: Arc<Mark>) -> Self {
        let vital = watch::Sender::new(Vital::default());
        Self { vital, heard_at: AtomicI64::new(0), pending_bytes: AtomicUsize::new(0), mark }
    }

    pub fn read(&self) -> Vital {
        self.vital.borrow().clone()
    }

    pub fn state(&self) -> ActorState {
        self.vital.borrow().standing.state
    }

    /// When the actor handled its last message.
    pub fn last_activity(&self) -> Option<Timestamp> {
        Some(self.heard_at.load(Ordering::Relaxed)).filter(|at| *at > 0).map(Timestamp::from_millis)
    }

    /// Bytes that have arrived and are not on their way to the Journal yet.
    pub fn pending_bytes(&self) -> usize {
        self.pending_bytes.load(Ordering::Relaxed)
    }
}

/// The actor's side: writes the vitals, and knows what it wrote last.
#[derive(Debug)]
pub struct Pulse {
    vitals: Arc<Vitals>,
    told: Standing,
}

impl Pulse {
    pub fn new(vitals: Arc<Vitals>) -> Self {
        Self { vitals, told: Standing::default() }
    }

    /// After each message, with what follows from it.
    pub fn beat(&mut self, conversation: &Conversation, effects: &[Effect], now: Timestamp) {
        self.vitals.heard_at.store(now.as_millis(), Ordering::Relaxed);
        self.vitals.pending_bytes.store(conversation.pending_bytes(), Ordering::Relaxed);
        let standing = conversation.standing();
        let error = effects.iter().find_map(error_of);
        if standing != self.told || error.is_some() {
            let error = error.map(|error| LastError::of_reply(error, now));
            self.write(standing, conversation, error, now);
        }
        self.vitals.mark.touch();
    }

    fn write(&mut self, standing: Standing, conversation: &Conversation, error: Option<LastError>, now: Timestamp) {
        let same_turn = standing.turn.map(|(turn, _)| turn) == self.told.turn.map(|(turn, _)| turn);
        let speaker = conversation.speaker();
        self.vitals.vital.send_if_modified(|vital| {
            vital.standing = standing;
            vital.tool = conversation.tool();
            if !same_turn {
                vital.since = now;
            }
            if vital.speaker.as_ref() != speaker {
                vital.speaker = speaker.cloned();
            }
            if error.is_some() {
                vital.last_error = error;
            }
            false
        });
        self.told = standing;
    }
}

/// The error that is about to be shown, or told.
fn error_of(effect: &Effect) -> Option<&MessageError> {
    match effect {
        Effect::Publish(Published::Frames(frames)) => frames.iter().find_map(|(_, frame)| match frame {
            Frame::Error { error, .. } => Some(error),
            _ => None,
        }),
        Effect::Tell { error, .. } => Some(error),
        _ => None,
    }
}

impl LastError {
    /// A Provider's own words may quote what it was sent: they are left out.
    fn of_reply(error: &MessageError, at: Timestamp) -> Self {
        let message = match (&error.provider, error.status) {
            (None, _) => error.message.clone(),
            (Some(provider), Some(status)) => format!("{provider} answered {status}."),
            (Some(provider), None) => format!("The reply of {provider} failed."),
        };
        Self { code: error.code, message, at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::ErrorKind;

    #[test]
    fn the_words_of_a_provider_are_not_repeated_to_an_operator() {
        let error = MessageError {
            code: ErrorCode::ProviderError,
            message: "invalid content: 'my secret'".to_owned(),
            kind: ErrorKind::Request,
            provider: Some("Somewhere".to_owned()),
            status: Some(400),
            retryable: false,
        };
        let told = LastError::of_reply(&error, Timestamp::default());
        assert_eq!((told.code, told.message.as_str()), (ErrorCode::ProviderError, "Somewhere answered 400."));
        let told = LastError::of_reply(&MessageError { status: None, ..error }, Timestamp::default());
        assert_eq!(told.message, "The reply of Somewhere failed.");
    }
}
