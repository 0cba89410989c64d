//! The gates of a turn, in order, each before the stream: who, body, ownership, a speaker, a model. Busy and deleted are
//! decided by the actor. An [`Admission`] can be built nowhere else.

use std::sync::Arc;

use hamlet_actors::{
    conversation::{Begin, BeginRefusal, Begun, Intent, event::Idempotency},
    engine::EngineError,
    turn::TurnPlan,
    vocabulary::{Author, AuthorKind, ConversationId, ErrorCode, Hop, MessageId, Npc, NpcId, Timestamp, TurnId},
};
use sha2::{Digest, Sha256};

use super::{
    facts::{self, Facts},
    text,
};
use crate::{app::App, auth::Who, http::error::ApiError, store::conversations::Earlier, village::resolve::resolve};

/// A regenerate reads what it replaces before it asks; when the Conversation has moved on meanwhile, it reads again.
const STALE_TRIES: usize = 5;

/// A turn that may begin.
#[derive(Debug)]
pub struct Admission {
    conversation: ConversationId,
    begin: Begin,
    plan: TurnPlan,
}

/// What a Player says.
#[derive(Debug, Clone)]
pub struct Say {
    pub text: String,
    pub to: Option<NpcId>,
    pub client_id: Option<String>,
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
}

impl From<Begun> for Joined {
    fn from(begun: Begun) -> Self {
        Self { turn: begun.turn, message: begun.message, cursor: begun.cursor, repeated: false }
    }
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
    match begin(app, admission).await {
        Ok(begun) => Ok(begun.into()),
        // Two of the same at once: the other one's turn is this one's.
        Err(error) => match join_earlier(app, who, id, &repeatable).await? {
            Some(joined) => Ok(joined),
            None => Err(error.into()),
        },
    }
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
    let mut last = ApiError::new(ErrorCode::TurnInProgress, "The Conversation keeps moving; try again.");
    for _ in 0..STALE_TRIES {
        let admission = admit_regenerate(app, who, id, npc, &repeatable).await?;
        match begin(app, admission).await {
            Ok(begun) => return Ok(begun.into()),
            Err(EngineError::Refused(BeginRefusal::Stale)) => tokio::task::yield_now().await,
            Err(error) => {
                if let Some(joined) = join_earlier(app, who, id, &repeatable).await? {
                    return Ok(joined);
                }
                last = error.into();
                break;
            }
        }
    }
    Err(last)
}

async fn begin(app: &App, admission: Admission) -> Result<Begun, EngineError> {
    if app.stopping.is_cancelled() {
        return Err(EngineError::ShuttingDown);
    }
    app.engine.begin(admission.conversation, admission.begin, admission.plan).await
}

async fn join_earlier(
    app: &App,
    who: &Who,
    id: ConversationId,
    repeatable: &Repeatable,
) -> Result<Option<Joined>, ApiError> {
    let Some(key) = repeatable.key.clone() else { return Ok(None) };
    let Some(earlier) = facts::earlier(app, who.id, key).await? else { return Ok(None) };
    facts::read(app, id, who.id).await?;
    let Earlier { conversation, body_hash, turn, message, first_seq } = earlier;
    if conversation != id || body_hash != repeatable.body_hash {
        return Err(ApiError::new(
            ErrorCode::IdempotencyMismatch,
            "This Idempotency-Key was used for another request. Use a new key for a new request.",
        ));
    }
    Ok(Some(Joined { turn, message, cursor: first_seq.saturating_sub(1), repeated: true }))
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
    let facts = facts::read(app, id, who.id).await?;
    let npc = facts.speaker(say.to, &say.text).ok_or_else(|| no_npc(say.to))?;
    let question = Some(Arc::from(say.text.as_str()));
    let intent = Intent::Send {
        message: MessageId::generate(),
        author: Author { kind: AuthorKind::Player, id: who.id.to_string(), name: who.name.clone() },
        text: say.text,
        client_id: say.client_id,
    };
    admission(app, who, id, &facts, npc, intent, question, repeatable)
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
    admission(app, who, id, &facts, npc, intent, None, repeatable)
}

#[expect(clippy::too_many_arguments, reason = "the one place where an Admission is made takes all that it is made of")]
fn admission(
    app: &App,
    who: &Who,
    conversation: ConversationId,
    facts: &Facts,
    npc: &Npc,
    intent: Intent,
    question: Option<Arc<str>>,
    repeatable: &Repeatable,
) -> Result<Admission, ApiError> {
    let resolved = resolve(npc, &facts.settings, &facts.providers)?;
    let provider = app.providers.build(resolved.provider);
    let begin = Begin {
        turn: TurnId::generate(),
        reply: MessageId::generate(),
        intent,
        speaker: Author { kind: AuthorKind::Npc, id: npc.id.to_string(), name: npc.name.clone() },
        provider_name: provider.name().to_owned(),
        model: (provider.id(), resolved.model.clone()),
        hop: Hop { count: 0, limit: facts.settings.hop_limit },
        idempotency: repeatable.key.clone().map(|key| Idempotency {
            player: who.id,
            key,
            body_hash: repeatable.body_hash,
        }),
        // The actor sets its own clock's time when it takes the turn up.
        now: Timestamp::default(),
    };
    let plan = TurnPlan {
        npc: npc.clone(),
        in_party: facts.party.len() > 1,
        model: resolved.model,
        provider,
        window_tokens: usize::try_from(facts.settings.window_tokens).unwrap_or(usize::MAX),
        question,
        when_unwatched: facts.settings.when_unwatched,
    };
    Ok(Admission { conversation, begin, plan })
}

fn no_npc(asked: Option<NpcId>) -> ApiError {
    let message = match asked {
        Some(_) => "The NPC that was addressed does not take part in this Conversation.",
        None => "Nobody is in this Conversation who could answer. Add an NPC first.",
    };
    ApiError::new(ErrorCode::NoNpc, message)
}
