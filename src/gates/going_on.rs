//! Going on behind what was said last, without another word of the Player: after a hand-over that the limit kept from
//! happening, or after a reply that did not come to its end.

use hamlet_actors::{
    conversation::{BeginRefusal, Intent, OnBusy},
    engine::EngineError,
    policy::said::refused_hand_over,
    vocabulary::{ConversationId, ErrorCode, Hop, Message, MessageStatus, NpcId, Part, Role},
};

use super::{
    admit::{
        Ids, Joined, Repeatable, STALE_TRIES, admission, begin, begun_or_joined, join_earlier, keeps_moving, player,
    },
    casting::{Asked, cast, no_npc},
    facts,
};
use crate::{app::App, auth::Who, http::error::ApiError, store::messages};

/// What an NPC is told that is to go on with its own unfinished reply. It is sent, and not stored.
const GO_ON: &str = "(Go on from where you stopped.)";

/// Hand-overs that a Player may allow at once.
const HOPS_MAX: u32 = 100;

/// # Errors
/// Whatever refuses the turn, with its code; NOTHING_TO_CONTINUE behind a reply that came to its end.
pub async fn go_on(
    app: &App,
    who: &Who,
    id: ConversationId,
    hops: Option<u32>,
    repeatable: Repeatable,
) -> Result<Joined, ApiError> {
    if hops.is_some_and(|hops| !(1..=HOPS_MAX).contains(&hops)) {
        return Err(ApiError::invalid(format!("hops is a number from 1 to {HOPS_MAX}.")));
    }
    if let Some(joined) = join_earlier(app, who, id, &repeatable).await? {
        return Ok(joined);
    }
    let ids = Ids::generate();
    for _ in 0..STALE_TRIES {
        let facts = facts::read(&app.village, id, who.id).await?;
        let key = facts.row.key;
        let newest = app.store.read(move |conn| messages::newest_reply(conn, key)).await?;
        let onward = newest.as_ref().and_then(onward).ok_or_else(nothing)?;
        let npc = facts.party.iter().find(|npc| npc.id == onward.speaker).ok_or_else(|| no_npc(None))?;
        let asked = match onward.nudge {
            Some(nudge) => Asked::Now(nudge.into()),
            None => Asked::Before(onward.about.into()),
        };
        let mut planned = cast(&*app.providers, &facts, npc, player(who), asked)?;
        planned.cast.hop = Hop { count: 0, limit: hops.unwrap_or(planned.cast.hop.limit) };
        let intent = Intent::Continue { as_of: facts.row.last_seq };
        let admission = admission(who, id, planned, intent, OnBusy::Reject, &repeatable);
        match begin(app, admission.under(ids)).await {
            Err(EngineError::Refused(BeginRefusal::Stale)) => tokio::task::yield_now().await,
            begun => return begun_or_joined(app, who, id, &repeatable, begun).await,
        }
    }
    Err(keeps_moving())
}

struct Onward {
    speaker: NpcId,
    nudge: Option<&'static str>,
    about: String,
}

fn onward(newest: &Message) -> Option<Onward> {
    if newest.role != Role::Npc {
        return None;
    }
    let refused = newest.parts.iter().rev().find_map(|part| match part {
        Part::ToolResult(result) => refused_hand_over(&result.output),
        _ => None,
    });
    if let Some(to) = refused {
        return Some(Onward { speaker: to.parse().ok()?, nudge: None, about: newest.text.clone() });
    }
    match newest.status {
        MessageStatus::Aborted | MessageStatus::Interrupted | MessageStatus::Failed => {
            Some(Onward { speaker: newest.author.id.parse().ok()?, nudge: Some(GO_ON), about: newest.text.clone() })
        }
        _ => None,
    }
}

fn nothing() -> ApiError {
    ApiError::new(ErrorCode::NothingToContinue, "The last reply came to its end: there is nothing to go on with.")
}
