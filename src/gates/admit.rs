//! The gates of a turn, in order, each before the stream: who, body, ownership, a speaker, a model. Busy and deleted are
//! decided by the actor. An [`Admission`] can be built nowhere else.

use hamlet_actors::{
    conversation::{Begin, BeginRefusal, Begun, ChangeRefusal, Intent, OnBusy, QueueChange, event::Idempotency},
    engine::EngineError,
    turn::{Planned, TurnPlan},
    vocabulary::{
        Author, AuthorKind, ConversationId, ErrorCode, MessageId, MessageStatus, NpcId, Role, Timestamp, TurnId,
    },
};
use sha2::{Digest, Sha256};

use super::{
    casting::{Asked, cast, no_npc},
    facts, text,
};
use crate::{
    app::App,
    auth::Who,
    http::error::ApiError,
    store::{
        branches::{self, Branch},
        conversations::Earlier,
    },
};

/// A regenerate reads what it replaces before it asks; when the Conversation has moved on meanwhile, it reads again.
pub(super) const STALE_TRIES: usize = 5;

/// A turn that may begin.
#[derive(Debug)]
pub struct Admission {
    conversation: ConversationId,
    begin: Begin,
    plan: TurnPlan,
}

/// What a turn is called, at each try: others may have been told of it already.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ids {
    turn: TurnId,
    reply: MessageId,
}

impl Ids {
    pub(super) fn generate() -> Self {
        Self { turn: TurnId::generate(), reply: MessageId::generate() }
    }
}

impl Admission {
    pub(super) fn under(mut self, Ids { turn, reply }: Ids) -> Self {
        self.begin.turn = turn;
        self.begin.reply = reply;
        self
    }
}

/// What a Player says.
#[derive(Debug, Clone)]
pub struct Say {
    pub text: String,
    pub to: Option<NpcId>,
    pub client_id: Option<String>,
    pub on_busy: OnBusy,
}

/// A request that may be repeated: its key, and what it was.
#[derive(Debug, Clone)]
pub struct Repeatable {
    pub key: Option<String>,
    pub body_hash: [u8; 32],
}

impl Repeatable {
    /// Binds the key to the route and the body.
    pub fn of(headers: &http::HeaderMap, route: &str, body: &[u8]) -> Result<Self, ApiError> {
        let mut hash = Sha256::new();
        hash.update(route.as_bytes());
        hash.update([0]);
        hash.update(body);
        Ok(Self { key: text::idempotency_key(headers)?, body_hash: hash.finalize().into() })
    }
}

/// A turn that runs, or has run, and where its frames begin.
#[derive(Debug, Clone, Copy)]
pub struct Joined {
    pub turn: TurnId,
    pub message: MessageId,
    pub cursor: u64,
    /// Asked for before, under the same key.
    pub repeated: bool,
    /// The text joins a turn that may end before it is said.
    pub steers: bool,
}

/// Says something in a Conversation; a repeat under the same key joins the first one's turn.
///
/// # Errors
/// Whatever refuses the turn, with its code.
pub async fn say(
    app: &App,
    who: &Who,
    id: ConversationId,
    say: Say,
    repeatable: Repeatable,
) -> Result<Joined, ApiError> {
    if let Some(joined) = join_earlier(app, who, id, &repeatable).await? {
        return Ok(joined);
    }
    let admission = admit_say(app, who, id, say, &repeatable).await?;
    let begun = begin(app, admission).await;
    begun_or_joined(app, who, id, &repeatable, begun).await
}

/// Answers the last Player Message anew.
///
/// # Errors
/// Whatever refuses the turn, with its code.
pub async fn regenerate(
    app: &App,
    who: &Who,
    id: ConversationId,
    npc: Option<NpcId>,
    repeatable: Repeatable,
) -> Result<Joined, ApiError> {
    if let Some(joined) = join_earlier(app, who, id, &repeatable).await? {
        return Ok(joined);
    }
    let ids = Ids::generate();
    for _ in 0..STALE_TRIES {
        let admission = admit_regenerate(app, who, id, npc, &repeatable).await?;
        match begin(app, admission.under(ids)).await {
            Err(EngineError::Refused(BeginRefusal::Stale)) => tokio::task::yield_now().await,
            begun => return begun_or_joined(app, who, id, &repeatable, begun).await,
        }
    }
    Err(keeps_moving())
}

/// What became of an edit.
#[derive(Debug, Clone, Copy)]
pub enum Edited {
    /// The text still waits, and reads so now.
    Waiting,
    /// The text was said: it and all behind it left, and another turn answers the new one.
    Branched { conversation: ConversationId, joined: Joined },
}

/// Another text in place of one of the Player's Messages.
///
/// # Errors
/// Whatever refuses the turn, with its code; CONFLICT for a Message that cannot be edited.
pub async fn edit(
    app: &App,
    who: &Who,
    message: MessageId,
    new: &str,
    client_id: Option<String>,
    repeatable: Repeatable,
) -> Result<Edited, ApiError> {
    let ids = Ids::generate();
    for _ in 0..STALE_TRIES {
        let (facts, branch) = facts::read_branch(app, message, who.id).await?;
        let id = facts.row.id;
        if let Some(joined) = join_earlier(app, who, id, &repeatable).await? {
            return Ok(edited(&branch, id, joined));
        }
        text::check(new)?;
        text::check_client_id(client_id.as_deref())?;
        if branch.status == MessageStatus::Queued {
            let change = QueueChange::Edit { message, text: new.into(), idempotency: idempotency(who, &repeatable) };
            match app.engine.change(id, change).await {
                Ok(()) => return Ok(Edited::Waiting),
                // It was taken up meanwhile: now it is one that was said.
                Err(EngineError::NotChanged(ChangeRefusal::NotQueued)) => continue,
                Err(error) => {
                    let joined = joined_or(app, who, id, &repeatable, error).await?;
                    return Ok(edited(&branch, id, joined));
                }
            }
        }
        let npc = facts.speaker(None, new).ok_or_else(|| no_npc(None))?;
        let planned = cast(&*app.providers, &facts, npc, player(who), Asked::Now(new.into()))?;
        let intent = edit_intent(who, message, new, client_id.clone(), branch, facts.row.last_seq)?;
        let admission = admission(who, id, planned, intent, OnBusy::Reject, &repeatable);
        match begin(app, admission.under(ids)).await {
            Err(EngineError::Refused(BeginRefusal::Stale)) => tokio::task::yield_now().await,
            begun => {
                let joined = begun_or_joined(app, who, id, &repeatable, begun).await?;
                return Ok(Edited::Branched { conversation: id, joined });
            }
        }
    }
    Err(keeps_moving())
}

/// What an earlier request under the same key did: the turn is the text's own when it was changed where it waited.
fn edited(branch: &Branch, conversation: ConversationId, joined: Joined) -> Edited {
    if branch.turn == joined.turn { Edited::Waiting } else { Edited::Branched { conversation, joined } }
}

fn edit_intent(
    who: &Who,
    edited: MessageId,
    text: &str,
    client_id: Option<String>,
    branch: Branch,
    as_of: u64,
) -> Result<Intent, ApiError> {
    if branch.role != Role::Player {
        return Err(ApiError::new(ErrorCode::Conflict, "Only what a Player said can be edited. Regenerate a reply."));
    }
    if branch.messages.len() > branches::LIMIT {
        return Err(branches_limit());
    }
    if branch.messages.first() != Some(&edited) {
        return Err(ApiError::new(ErrorCode::Conflict, "This Message is not in the transcript any more."));
    }
    Ok(Intent::Edit {
        as_of,
        message: MessageId::generate(),
        author: player(who),
        text: text.to_owned(),
        client_id,
        supersedes: branch.messages,
        variant_of: branch.variant_of,
        first_position: branch.position,
    })
}

/// Two of the same at once: the other one's turn is this one's.
pub(super) async fn begun_or_joined(
    app: &App,
    who: &Who,
    id: ConversationId,
    repeatable: &Repeatable,
    begun: Result<Joined, EngineError>,
) -> Result<Joined, ApiError> {
    match begun {
        Ok(joined) => Ok(joined),
        Err(error) => joined_or(app, who, id, repeatable, error).await,
    }
}

async fn joined_or(
    app: &App,
    who: &Who,
    id: ConversationId,
    repeatable: &Repeatable,
    error: EngineError,
) -> Result<Joined, ApiError> {
    join_earlier(app, who, id, repeatable).await?.ok_or_else(|| error.into())
}

/// What would leave with one Message is more than is moved at once.
pub fn branches_limit() -> ApiError {
    let message = format!(
        "More than {} Messages stand behind this one: they are not moved at once. Say it anew instead.",
        branches::LIMIT
    );
    ApiError::new(ErrorCode::Conflict, message)
}

/// What was read had changed each time before it could be acted on.
pub fn keeps_moving() -> ApiError {
    ApiError::new(ErrorCode::Conflict, "The Conversation keeps moving; try again.")
}

pub(super) async fn begin(app: &App, admission: Admission) -> Result<Joined, EngineError> {
    if app.stopping.is_cancelled() {
        return Err(EngineError::ShuttingDown);
    }
    let own = admission.begin.turn;
    let Begun { turn, message, cursor } =
        app.engine.begin(admission.conversation, admission.begin, admission.plan).await?;
    Ok(Joined { turn, message, cursor, repeated: false, steers: turn != own })
}

pub(super) async fn join_earlier(
    app: &App,
    who: &Who,
    id: ConversationId,
    repeatable: &Repeatable,
) -> Result<Option<Joined>, ApiError> {
    let Some(key) = repeatable.key.clone() else { return Ok(None) };
    let Some(earlier) = facts::earlier(app, who.id, key).await? else { return Ok(None) };
    facts::read(&app.village, id, who.id).await?;
    let Earlier { conversation, body_hash, turn, steers, message, first_seq } = earlier;
    if conversation != id || body_hash != repeatable.body_hash {
        return Err(ApiError::key_taken());
    }
    Ok(Some(Joined { turn, message, cursor: first_seq.saturating_sub(1), repeated: true, steers }))
}

/// How an NPC would be asked now: the one named, else who would answer a text that addresses nobody.
///
/// # Errors
/// As a turn is refused: NO_NPC, NO_MODEL, NO_PROVIDER_KEY; not found.
pub async fn plan_now(app: &App, who: &Who, id: ConversationId, npc: Option<NpcId>) -> Result<TurnPlan, ApiError> {
    let (facts, trailing) = facts::read_trailing(app, id, who.id).await?;
    let speaker = facts.speaker(npc, "").ok_or_else(|| no_npc(npc))?;
    let asked = Asked::Before(trailing.map(|trailing| trailing.question).unwrap_or_default().into());
    Ok(cast(&*app.providers, &facts, speaker, player(who), asked)?.plan)
}

async fn admit_say(
    app: &App,
    who: &Who,
    id: ConversationId,
    say: Say,
    repeatable: &Repeatable,
) -> Result<Admission, ApiError> {
    text::check(&say.text)?;
    text::check_client_id(say.client_id.as_deref())?;
    let facts = facts::read(&app.village, id, who.id).await?;
    let npc = facts.speaker(say.to, &say.text).ok_or_else(|| no_npc(say.to))?;
    let planned = cast(&*app.providers, &facts, npc, player(who), Asked::Now(say.text.as_str().into()))?;
    let intent = Intent::Send {
        message: MessageId::generate(),
        author: player(who),
        text: say.text,
        client_id: say.client_id,
        to: say.to,
    };
    Ok(admission(who, id, planned, intent, say.on_busy, repeatable))
}

async fn admit_regenerate(
    app: &App,
    who: &Who,
    id: ConversationId,
    npc: Option<NpcId>,
    repeatable: &Repeatable,
) -> Result<Admission, ApiError> {
    let (facts, trailing) = facts::read_trailing(app, id, who.id).await?;
    let Some(trailing) = trailing else {
        return Err(ApiError::new(
            ErrorCode::NothingToRegenerate,
            "Nothing has been said here that could be answered again.",
        ));
    };
    // Who answered first answers again, unless another is named or that one has left.
    let earlier = trailing.speaker.as_deref().and_then(|id| id.parse().ok());
    let present = earlier.filter(|id| facts.party.iter().any(|npc| npc.id == *id));
    let npc = facts.speaker(npc.or(present), &trailing.question).ok_or_else(|| no_npc(npc))?;
    let intent = Intent::Regenerate {
        as_of: facts.row.last_seq,
        supersedes: trailing.replies,
        variant_of: trailing.variant_of,
        first_position: trailing.first_position,
    };
    let planned = cast(&*app.providers, &facts, npc, player(who), Asked::Before(trailing.question.into()))?;
    Ok(admission(who, id, planned, intent, OnBusy::Reject, repeatable))
}

pub(super) fn admission(
    who: &Who,
    conversation: ConversationId,
    planned: Planned,
    intent: Intent,
    on_busy: OnBusy,
    repeatable: &Repeatable,
) -> Admission {
    let Planned { cast, plan } = planned;
    let begin = Begin {
        turn: TurnId::generate(),
        reply: MessageId::generate(),
        intent,
        speaker: cast.speaker,
        provider_name: cast.provider_name,
        model: cast.model,
        hop: cast.hop,
        step_limit: cast.step_limit,
        on_busy,
        idempotency: idempotency(who, repeatable),
        // The actor sets its own clock's time when it takes the turn up.
        now: Timestamp::default(),
    };
    Admission { conversation, begin, plan }
}

fn idempotency(who: &Who, repeatable: &Repeatable) -> Option<Idempotency> {
    let key = repeatable.key.clone()?;
    Some(Idempotency { player: who.id, key, body_hash: repeatable.body_hash })
}

pub(super) fn player(who: &Who) -> Author {
    Author { kind: AuthorKind::Player, id: who.id.to_string(), name: who.name.clone() }
}
