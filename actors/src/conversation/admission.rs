//! The one transaction of an admission: the Player's Message, the title, the time of activity, the NPC's Message, the
//! idempotency key. Together or not at all, and the frames that show them.

use std::sync::Arc;

use crate::{
    ports::journal::{IdempotentTurn, NewMessage, Write},
    vocabulary::{
        Author, Body, ConversationId, ConversationStamp, Frame, Hop, MessageId, MessageStatus, Part, Role, title_of,
    },
};

use super::{
    event::{Begin, Intent, Ticket},
    frames,
    turn_state::Turn,
};

/// Where a Conversation stands when a turn is admitted.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub conversation: ConversationId,
    pub cursor: u64,
    pub next_position: i64,
    pub title: Option<&'a str>,
}

/// An admission on its way to the Journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Admitted {
    pub turn: Turn,
    pub player: Option<Arc<NewMessage>>,
    /// The title that the Conversation gains.
    pub title: Option<String>,
    pub writes: Vec<Write>,
    pub frames: Vec<(u64, Frame)>,
    pub last_seq: u64,
}

pub fn admit(place: Place<'_>, begin: Begin, waiters: Vec<Ticket>) -> Admitted {
    let mut seq = place.cursor;
    let (mut writes, mut shown) = (Vec::new(), Vec::new());
    let mut title = None;
    if let Intent::Edit { supersedes, .. } = &begin.intent {
        // Live readers know it from the start frame that follows.
        let left = supersedes.iter().map(|id| (*id, frames::next(&mut seq))).collect();
        writes.push(Write::Supersede { left });
    }
    let player = player_message(place, &begin, seq + 1).map(Arc::new);
    if let Some(player) = &player {
        if place.title.is_none() {
            title = Some(title_of(&player.body.text())).filter(|title| !title.is_empty());
        }
        let told = title.clone().or_else(|| place.title.map(str::to_owned));
        let stamp = ConversationStamp { title: told, updated_at: begin.now };
        shown.extend(frames::whole(place.conversation, player, None, stamp, &mut seq));
        writes.push(match begin.intent {
            Intent::TakeUp(_) => Write::TakeUp(Arc::clone(player)),
            _ => Write::Insert(Arc::clone(player)),
        });
    }
    let reply = Arc::new(reply_message(place, &begin, player.is_some(), frames::next(&mut seq)));
    shown.push((seq, frames::start(place.conversation, &reply)));
    writes.push(Write::Insert(Arc::clone(&reply)));
    writes.push(Write::Touch { updated_at: begin.now, title: title.clone() });
    writes.extend(remembered(place, &begin).map(Write::Remember));
    let turn = Turn::admitted(place, begin, &reply, waiters);
    Admitted { turn, player, title, writes, frames: shown, last_seq: seq }
}

/// The history that the model is told of lies before this place.
pub fn before_position(place: Place<'_>, intent: &Intent) -> i64 {
    match intent {
        Intent::Send { .. } | Intent::TakeUp(_) | Intent::Continue { .. } => place.next_position,
        Intent::Regenerate { first_position, .. } | Intent::Edit { first_position, .. } => *first_position,
    }
}

fn player_message(place: Place<'_>, begin: &Begin, first_seq: u64) -> Option<NewMessage> {
    let said = |id: MessageId, author: &Author, text: &str, client_id: &Option<String>, variant_of| NewMessage {
        id,
        turn_id: begin.turn,
        role: Role::Player,
        author: author.clone(),
        position: place.next_position,
        status: MessageStatus::Complete,
        body: Body { parts: vec![Part::text(text)], ..Body::default() },
        hop: Hop { count: 0, limit: begin.hop.limit },
        supersedes: Vec::new(),
        variant_of,
        model: None,
        client_id: client_id.clone(),
        first_seq,
        last_seq: first_seq + frames::WHOLE - 1,
        created_at: begin.now,
    };
    match &begin.intent {
        Intent::Send { message, author, text, client_id, .. } => Some(said(*message, author, text, client_id, None)),
        Intent::Edit { message, author, text, client_id, variant_of, supersedes, .. } => {
            let said = said(*message, author, text, client_id, Some(*variant_of));
            Some(NewMessage { supersedes: supersedes.clone(), ..said })
        }
        Intent::TakeUp(item) => Some(item.said(begin.turn, place.next_position, first_seq)),
        Intent::Regenerate { .. } | Intent::Continue { .. } => None,
    }
}

fn reply_message(place: Place<'_>, begin: &Begin, behind_player: bool, seq: u64) -> NewMessage {
    let (supersedes, variant_of) = match &begin.intent {
        Intent::Send { .. } | Intent::TakeUp(_) | Intent::Edit { .. } | Intent::Continue { .. } => (Vec::new(), None),
        Intent::Regenerate { supersedes, variant_of, .. } => (supersedes.clone(), *variant_of),
    };
    NewMessage {
        id: begin.reply,
        turn_id: begin.turn,
        role: Role::Npc,
        author: begin.speaker.clone(),
        position: place.next_position + i64::from(behind_player),
        status: MessageStatus::Running,
        body: Body::default(),
        hop: begin.hop,
        supersedes,
        variant_of,
        model: Some(begin.model.clone()),
        client_id: None,
        first_seq: seq,
        last_seq: seq,
        created_at: begin.now,
    }
}

fn remembered(place: Place<'_>, begin: &Begin) -> Option<IdempotentTurn> {
    let key = begin.idempotency.as_ref()?;
    Some(IdempotentTurn {
        player: key.player,
        key: key.key.clone(),
        body_hash: key.body_hash,
        turn: begin.turn,
        message: begin.reply,
        first_seq: place.cursor + 1,
        at: begin.now,
    })
}
