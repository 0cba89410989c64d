//! Whoever counts what happens in a Village. It is told in passing, from actors and from turns' tasks, so it must not
//! block; nothing is told for each token.

use std::time::Duration;

use crate::vocabulary::{ErrorCode, Frame, MessageError, MessageStatus, TurnId, TurnState, Usage};

/// Told of facts as they happen. Each method does nothing unless it is overridden.
pub trait Observer: Send + Sync + 'static {
    /// A turn's admission is stored.
    fn turn_admitted(&self) {}

    /// The first piece of a turn's reply is shown, so long after the turn was asked for.
    fn first_shown(&self, _waited: Duration) {}

    /// A piece of a reply is shown, so long after it was decoded: the engine's own part of the latency, the commit
    /// included. Told of the first report of a turn and of one in sixteen after it.
    fn shown(&self, _added: Duration) {}

    /// A turn's terminal frame is stored and shown, so long after the turn was asked for.
    fn turn_ended(&self, _turn: EndedTurn, _took: Duration) {}

    /// A Provider's stream is over, whatever ended it.
    fn provider_answered(&self, _call: &ProviderCall<'_>) {}

    /// A tool has answered a call, or did not, so long after it was begun.
    fn tool_ran(&self, _how: ToolRan, _took: Duration) {}

    /// A request was refused because too many wait for its Conversation.
    fn mailbox_full(&self) {}

    /// A Conversation's actor failed, and was started again.
    fn actor_restarted(&self) {}

    /// A Conversation's actor kept failing, and is not started any more until it is released.
    fn actor_quarantined(&self) {}
}

/// What came of a call that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolRan {
    Answered,
    /// With an error, which the model sees.
    Failed,
    /// Not within its time.
    Late,
    HandedOver,
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedTurn {
    pub turn: TurnId,
    pub status: MessageStatus,
    /// Of the error that was stored with it.
    pub code: Option<ErrorCode>,
}

impl EndedTurn {
    /// The turn whose terminal frame is among these.
    pub fn among(frames: &[(u64, Frame)]) -> Option<Self> {
        let finish = frames.iter().find_map(|(_, frame)| match frame {
            Frame::Finish(finish) if finish.turn.state == TurnState::Ended => Some(finish),
            _ => None,
        })?;
        let code = frames.iter().rev().find_map(|(_, frame)| match frame {
            Frame::Error { message_id, error: MessageError { code, .. }, .. }
                if *message_id == Some(finish.message_id) =>
            {
                Some(*code)
            }
            _ => None,
        });
        Some(Self { turn: finish.turn.id, status: finish.status, code })
    }
}

/// One request to a Provider, from its sending to the end of its stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProviderCall<'a> {
    /// The Provider's name.
    pub provider: &'a str,
    pub model: &'a str,
    pub took: Duration,
    /// From its sending to the first delta; None when none came.
    pub first_delta: Option<Duration>,
    /// As the Provider reported it.
    pub usage: Option<Usage>,
    pub outcome: CallOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    Complete,
    /// Hamlet let go of it: Stop, shutdown, or a trouble of its own.
    Cancelled,
    Failed(ErrorCode),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{ConversationStamp, ErrorKind, Finish, MessageId, Timestamp, TurnStamp};

    fn finish(message: MessageId, turn: TurnId, state: TurnState, status: MessageStatus) -> (u64, Frame) {
        let finish = Finish {
            message_id: message,
            status,
            finish_reason: None,
            usage: None,
            turn: TurnStamp { id: turn, state },
            conversation: ConversationStamp { title: None, updated_at: Timestamp::default() },
        };
        (2, Frame::Finish(finish))
    }

    fn error(message: MessageId, turn: TurnId) -> (u64, Frame) {
        let error = MessageError {
            code: ErrorCode::ProviderError,
            message: String::new(),
            kind: ErrorKind::Server,
            provider: None,
            status: None,
            retryable: true,
        };
        (1, Frame::Error { turn_id: Some(turn), message_id: Some(message), error })
    }

    #[test]
    fn a_turn_ends_with_its_terminal_frame_and_that_messages_error() {
        let (turn, player, reply) = (TurnId::generate(), MessageId::generate(), MessageId::generate());
        let failed = finish(reply, turn, TurnState::Ended, MessageStatus::Failed);
        let ended = EndedTurn { turn, status: MessageStatus::Failed, code: Some(ErrorCode::ProviderError) };
        assert_eq!(EndedTurn::among(&[error(reply, turn), failed.clone()]), Some(ended));
        let other = EndedTurn { turn, status: MessageStatus::Failed, code: None };
        assert_eq!(EndedTurn::among(&[error(player, turn), failed]), Some(other));
        let going_on = finish(player, turn, TurnState::Running, MessageStatus::Complete);
        assert_eq!(EndedTurn::among(&[going_on]), None);
    }
}
