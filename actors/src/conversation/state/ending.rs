//! The end of a speaker's Message: one transaction with everything that follows from it, so that from the admission to the
//! terminal frame exactly one Message of a turn is running (promise 8).

use std::sync::Arc;

use crate::{
    policy::outcome::{self, Ending},
    ports::journal::{FinishedMessage, NewMessage, Queued, Write},
    vocabulary::{
        Body, ConversationStamp, Finish, Frame, Hop, MessageError, MessageId, MessageStatus, Role, Timestamp,
        TurnStamp, TurnState,
    },
};

use super::{
    super::{
        effect::Published,
        event::Cast,
        frames,
        turn_state::{InFlight, NextPart, NextStep, Then, Turn},
    },
    Conversation,
    flights::pending_writes,
};

/// What comes behind a Message that ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Onward {
    /// Whatever the queue and the Conversation's rule say, if it ended well.
    ByRule,
    /// Another NPC goes on.
    Passes(Cast, Hop, MessageId),
    /// Nothing; and this is told, whatever else is right with it.
    Ends(MessageError),
}

enum Follows {
    Nothing,
    Steering(Queued),
    Speaker(Cast, Hop, MessageId),
}

impl Conversation {
    /// The last pieces, what closes open calls, the finish, and the beginning of what follows in the same turn.
    pub(super) fn ending_flight(&mut self, ending: &Ending, onward: Onward, now: Timestamp) -> Option<InFlight> {
        let mut seq = self.last_seq;
        let title = self.title.clone();
        let turn = self.turn.as_mut()?;
        let (mut writes, mut publish) = pending_writes(turn, &mut seq);
        let mut verdict = outcome::verdict(&turn.body, ending, &turn.provider_name);
        turn.pending = verdict.closing;
        let (closing, shown) = pending_writes(turn, &mut seq);
        writes.extend(closing);
        publish.extend(shown);
        let goes_on = verdict.status == MessageStatus::Complete && turn.stopped.is_none();
        let pass = turn.pass.take();
        let follows = match onward {
            Onward::Ends(error) => {
                verdict.error = Some(error);
                Follows::Nothing
            }
            Onward::Passes(cast, hop, reply) => Follows::Speaker(cast, hop, reply),
            Onward::ByRule if !goes_on => Follows::Nothing,
            // One a step: each was answered for with a reply of its own.
            Onward::ByRule => match (self.queue.iter().find(|item| item.steers == Some(turn.id)), pass) {
                (Some(item), _) => Follows::Steering(item.clone()),
                (None, None) => Follows::Nothing,
                (None, Some(pass)) => match pass.cast {
                    Ok(cast) => Follows::Speaker(cast, turn.hop, pass.reply),
                    Err(error) => {
                        verdict.error = Some(error);
                        Follows::Nothing
                    }
                },
            },
        };
        let ends = matches!(follows, Follows::Nothing);
        let mut frames = Vec::new();
        if let Some(error) = verdict.error.clone() {
            seq += 1;
            frames.push((seq, Frame::Error { turn_id: Some(turn.id), message_id: Some(turn.message), error }));
        }
        seq += 1;
        let stamp = ConversationStamp { title, updated_at: now };
        let state = if ends { TurnState::Ended } else { TurnState::Running };
        let finish = Finish {
            message_id: turn.message,
            status: verdict.status,
            finish_reason: verdict.finish_reason,
            usage: turn.usage,
            turn: TurnStamp { id: turn.id, state },
            conversation: stamp.clone(),
        };
        frames.push((seq, Frame::Finish(finish.clone())));
        writes.push(Write::Finish(Arc::new(FinishedMessage {
            id: turn.message,
            status: verdict.status,
            body: turn.body.clone(),
            finish_reason: verdict.finish_reason,
            usage: turn.usage,
            error: verdict.error.clone(),
            terminal: ends,
            last_seq: seq,
            finished_at: now,
        })));
        let then = match follows {
            Follows::Nothing => Then::Ended { finish: Box::new(finish), error: verdict.error },
            Follows::Steering(item) => {
                let said = Arc::new(item.said(turn.id, turn.position + 1, seq + 1));
                frames.extend(frames::whole(self.id, &said, None, stamp, &mut seq));
                writes.push(Write::TakeUp(Arc::clone(&said)));
                let reply =
                    NewMessage { id: item.reply, position: said.position + 1, ..next_reply(turn, &mut seq, now) };
                let reply = Arc::new(reply);
                frames.push((seq, frames::start(self.id, &reply)));
                writes.push(Write::Insert(Arc::clone(&reply)));
                Then::Split(Box::new(NextStep { said, reply }))
            }
            Follows::Speaker(cast, hop, reply) => {
                let reply = Arc::new(NewMessage {
                    id: reply,
                    author: cast.speaker.clone(),
                    hop,
                    model: Some(cast.model.clone()),
                    ..next_reply(turn, &mut seq, now)
                });
                frames.push((seq, frames::start(self.id, &reply)));
                writes.push(Write::Insert(Arc::clone(&reply)));
                Then::Passed(Box::new(NextPart { reply, cast }))
            }
        };
        publish.push(Published::Frames(frames));
        writes.push(Write::Touch { updated_at: now, title: None });
        Some(InFlight { batch: self.batch(seq, writes), since: now, publish, then })
    }
}

/// A reply that begins behind the one that ends, in the same turn and by the same speaker.
fn next_reply(turn: &Turn, seq: &mut u64, now: Timestamp) -> NewMessage {
    let first_seq = frames::next(seq);
    NewMessage {
        id: turn.message,
        turn_id: turn.id,
        role: Role::Npc,
        author: turn.speaker.clone(),
        position: turn.position + 1,
        status: MessageStatus::Running,
        body: Body::default(),
        hop: turn.hop,
        supersedes: Vec::new(),
        variant_of: None,
        model: Some(turn.model.clone()),
        client_id: None,
        first_seq,
        last_seq: first_seq,
        created_at: now,
    }
}
