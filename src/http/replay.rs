//! Frames of stored Messages. A finished Message is replayed whole, and only its last event carries an id: a connection
//! that is cut in the middle replays the whole Message again (promise 6).

use hamlet_actors::vocabulary::{
    ConversationStamp, Finish, Frame, MessageStatus, Part, Start, StartedMessage, TurnStamp, TurnState,
};

use crate::store::Stored;

/// Start, merged Parts, error if any, finish. One that left the transcript is told by its finish alone.
pub fn frames(stored: Stored, stamp: &ConversationStamp) -> Vec<Frame> {
    let finish = finish(&stored, stamp);
    let Stored { message, .. } = stored;
    if matches!(message.status, MessageStatus::Superseded | MessageStatus::Withdrawn) {
        return vec![finish];
    }
    let waits = message.status == MessageStatus::Queued;
    let mut frames = vec![Frame::Start(Start {
        conversation_id: message.conversation_id,
        turn_id: message.turn_id,
        message: StartedMessage {
            id: message.id,
            role: message.role,
            author: message.author,
            position: message.position,
            created_at: message.created_at,
            status: if waits { MessageStatus::Queued } else { MessageStatus::Running },
            client_id: message.client_id,
        },
        hop: message.hop,
        supersedes: Vec::new(),
    })];
    let parts = if message.parts.is_empty() && !message.text.is_empty() {
        vec![Part::text(message.text)]
    } else {
        message.parts
    };
    frames.extend((0..).zip(parts).map(|(index, part)| Frame::Part { message_id: message.id, index, part }));
    if let Some(error) = message.error {
        frames.push(Frame::Error { turn_id: Some(message.turn_id), message_id: Some(message.id), error });
    }
    frames.push(finish);
    frames
}

/// How a Message ends, or leaves.
pub fn finish(stored: &Stored, stamp: &ConversationStamp) -> Frame {
    let message = &stored.message;
    let state = match message.status {
        MessageStatus::Queued => TurnState::Queued,
        _ if stored.terminal => TurnState::Ended,
        _ => TurnState::Running,
    };
    Frame::Finish(Finish {
        message_id: message.id,
        status: message.status,
        finish_reason: message.finish_reason,
        usage: message.usage,
        turn: TurnStamp { id: message.turn_id, state },
        conversation: stamp.clone(),
    })
}
