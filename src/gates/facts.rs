//! What the gates of a turn need to know, taken from the store in one short read.

use hamlet_actors::{
    policy::speaker::first_speaker,
    vocabulary::{ConversationId, Grant, MessageId, NewcomersKnow, Npc, NpcId, PlayerId},
};
use rusqlite::Connection;

use crate::{
    app::App,
    store::{
        StoreError,
        branches::{self, Branch},
        conversations::{self, ConversationRow, Earlier},
        grants,
        messages::{self, Trailing},
        npcs,
    },
    village::{
        VillageState,
        registry::{Known, known},
        settings::{Settings, effective},
    },
};

/// The Conversation and its Party as they are now.
#[derive(Debug, Clone)]
pub struct Facts {
    pub row: ConversationRow,
    pub party: Vec<Npc>,
    /// The place from which on each of them was there.
    pub joined: Vec<(NpcId, i64)>,
    /// What each of them may call.
    pub grants: Vec<(NpcId, Vec<Grant>)>,
    pub spoke_last: Option<NpcId>,
    pub settings: Settings,
    pub providers: Vec<Known>,
}

impl Facts {
    /// The place from which on an NPC is told what was said.
    pub fn knows_from(&self, npc: NpcId) -> i64 {
        match self.row.newcomers_know {
            NewcomersKnow::All => 0,
            NewcomersKnow::FromJoining => self.joined.iter().find(|(id, _)| *id == npc).map_or(0, |(_, place)| *place),
        }
    }

    pub fn grants_of(&self, npc: NpcId) -> Vec<Grant> {
        self.grants.iter().find(|(id, _)| *id == npc).map(|(_, grants)| grants.clone()).unwrap_or_default()
    }

    pub fn speaker(&self, to: Option<NpcId>, text: &str) -> Option<&Npc> {
        first_speaker(&self.party, self.row.speaker_policy, to, text, self.spoke_last)
    }
}

/// # Errors
/// Not found for an absent Conversation and for somebody else's.
pub async fn read(village: &VillageState, id: ConversationId, player: PlayerId) -> Result<Facts, StoreError> {
    let known = village.clone();
    village.store.read(move |conn| gather(conn, &known, id, player)).await
}

/// The facts, and what a regenerate would replace.
///
/// # Errors
/// As [`read`].
pub async fn read_trailing(
    app: &App,
    id: ConversationId,
    player: PlayerId,
) -> Result<(Facts, Option<Trailing>), StoreError> {
    let village = app.village.clone();
    app.store
        .read(move |conn| {
            let facts = gather(conn, &village, id, player)?;
            let trailing = messages::trailing(conn, facts.row.key)?;
            Ok((facts, trailing))
        })
        .await
}

/// The facts, and what an edit of this Message would replace.
///
/// # Errors
/// As [`read`]; not found when the Message is not there.
pub async fn read_branch(app: &App, message: MessageId, player: PlayerId) -> Result<(Facts, Branch), StoreError> {
    let village = app.village.clone();
    app.store
        .read(move |conn| {
            let row = conversations::of_message(conn, message, player)?;
            let facts = gather(conn, &village, row.id, player)?;
            let branch = branches::from(conn, row.key, message)?;
            Ok((facts, branch))
        })
        .await
}

/// The turn that was begun under this key, if its Conversation is the Player's still.
///
/// # Errors
/// What the store answers.
pub async fn earlier(app: &App, player: PlayerId, key: String) -> Result<Option<Earlier>, StoreError> {
    app.store.read(move |conn| conversations::earlier(conn, player, &key)).await
}

fn gather(
    conn: &Connection,
    village: &VillageState,
    id: ConversationId,
    player: PlayerId,
) -> Result<Facts, StoreError> {
    let row = conversations::of_player(conn, id, player)?;
    let ids = conversations::participants(conn, row.key)?;
    let party = npcs::party(conn, &ids)?;
    let joined = conversations::joined_positions(conn, row.key)?;
    let mut granted = Vec::with_capacity(party.len());
    for npc in &party {
        granted.push((npc.id, grants::of(conn, npc.id)?));
    }
    let spoke_last = messages::spoke_last(conn, row.key)?.and_then(|id| id.parse().ok());
    let settings = effective(conn, &village.pins)?;
    let providers = known(conn, &village.vault, &village.environment, &village.found)?;
    Ok(Facts { row, party, joined, grants: granted, spoke_last, settings, providers })
}
