//! Frames of Messages that begin, and of those that are whole from the start.

use crate::{
    ports::journal::NewMessage,
    vocabulary::{
        ConversationId, ConversationStamp, Finish, Frame, MessageError, MessageStatus, Start, StartedMessage,
        TurnStamp, TurnState,
    },
};

/// Frames of a Player's Message: start, the one Part, finish.
pub const WHOLE: u64 = 3;

/// The next seq.
pub fn next(seq: &mut u64) -> u64 {
    *seq += 1;
    *seq
}

pub fn start(conversation: ConversationId, message: &NewMessage) -> Frame {
    let status = match message.status {
        MessageStatus::Queued => MessageStatus::Queued,
        _ => MessageStatus::Running,
    };
    Frame::Start(Start {
        conversation_id: conversation,
        turn_id: message.turn_id,
        message: StartedMessage {
            id: message.id,
            role: message.role,
            author: message.author.clone(),
            position: message.position,
            created_at: message.created_at,
            status,
            client_id: message.client_id.clone(),
        },
        hop: message.hop,
        supersedes: message.supersedes.clone(),
    })
}

/// Start, Parts and finish of a Player's Message: said, or waiting; and what keeps it waiting, if anything does.
pub fn whole(
    conversation: ConversationId,
    message: &NewMessage,
    error: Option<MessageError>,
    stamp: ConversationStamp,
    seq: &mut u64,
) -> Vec<(u64, Frame)> {
    let mut frames = vec![(next(seq), start(conversation, message))];
    for (index, part) in (0..).zip(&message.body.parts) {
        frames.push((next(seq), Frame::Part { message_id: message.id, index, part: part.clone() }));
    }
    if let Some(error) = error {
        frames.push((next(seq), Frame::Error { turn_id: Some(message.turn_id), message_id: Some(message.id), error }));
    }
    let state = if message.status == MessageStatus::Queued { TurnState::Queued } else { TurnState::Running };
    frames.push((
        next(seq),
        Frame::Finish(Finish {
            message_id: message.id,
            status: message.status,
            finish_reason: None,
            usage: None,
            turn: TurnStamp { id: message.turn_id, state },
            conversation: stamp,
        }),
    ));
    frames
}
