//! Who answers, and with what: the last gates of a turn, the same for a text that begins at once and for one that waited.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use hamlet_actors::{
    conversation::Cast,
    ports::Model,
    turn::{CallLimits, Planned, Planner, TurnPlan, Unanswered},
    vocabulary::{Author, AuthorKind, ErrorCode, ErrorKind, Hop, MessageError, Npc, NpcId, PlayerId},
};

use super::facts::{self, Facts};
use crate::{
    app::BuildsProviders,
    http::error::ApiError,
    village::{
        VillageState,
        resolve::{Role, resolve, resolve_role},
    },
};

/// How long a call may run; a tool that knows better says so itself.
const CALL_LIMIT: Duration = Duration::from_secs(60);
/// A call that waits for somebody's yes expires after so long.
const APPROVAL_PATIENCE: Duration = Duration::from_secs(600);

/// What is to be answered.
pub enum Asked {
    /// Said with this turn.
    Now(Arc<str>),
    /// It is in the history already.
    Before(Arc<str>),
}

/// # Errors
/// NO_MODEL, NO_PROVIDER_KEY.
pub fn cast(
    providers: &dyn BuildsProviders,
    facts: &Facts,
    npc: &Npc,
    player: Author,
    asked: Asked,
) -> Result<Planned, ApiError> {
    let (question, topic) = match asked {
        Asked::Now(text) => (Some(text), None),
        Asked::Before(text) => (None, Some(text)),
    };
    let resolved = resolve(npc, &facts.settings, &facts.providers)?;
    let provider = providers.build(resolved.provider);
    let cast = Cast {
        speaker: Author { kind: AuthorKind::Npc, id: npc.id.to_string(), name: npc.name.clone() },
        provider_name: provider.name().to_owned(),
        model: (provider.id(), resolved.model.clone()),
        hop: Hop { count: 0, limit: facts.settings.hop_limit },
        step_limit: facts.settings.step_limit,
    };
    let plan = TurnPlan {
        npc: npc.clone(),
        party: facts.party.as_slice().into(),
        player,
        grants: facts.grants_of(npc.id).into(),
        policy: facts.row.speaker_policy,
        utility: utility(providers, facts, npc),
        model: resolved.model,
        provider,
        window_tokens: usize::try_from(facts.settings.window_tokens).unwrap_or(usize::MAX),
        topic: question.clone().or(topic).unwrap_or_else(|| "".into()),
        question,
        knows_from: facts.knows_from(npc.id),
        when_unwatched: facts.settings.when_unwatched,
        call_limits: CallLimits { run: CALL_LIMIT, approval: APPROVAL_PATIENCE },
    };
    Ok(Planned { cast, plan })
}

/// Who does work that needs no particular voice.
fn utility(providers: &dyn BuildsProviders, facts: &Facts, npc: &Npc) -> Option<Model> {
    let resolved = resolve_role(Role::Utility, npc, &facts.settings, &facts.providers)?;
    Some(Model { provider: providers.build(resolved.provider), name: resolved.model })
}

pub fn no_npc(asked: Option<NpcId>) -> ApiError {
    let message = match asked {
        Some(_) => "The NPC that was addressed does not take part in this Conversation.",
        None => "Nobody is in this Conversation who could answer. Add an NPC first.",
    };
    ApiError::new(ErrorCode::NoNpc, message)
}

/// Casts texts that waited.
pub struct Casting {
    pub village: VillageState,
    pub providers: Arc<dyn BuildsProviders>,
}

impl Planner for Casting {
    fn plan(&self, text: Unanswered) -> BoxFuture<'static, Result<Planned, MessageError>> {
        let (village, providers) = (self.village.clone(), Arc::clone(&self.providers));
        Box::pin(async move { waiting(&village, &*providers, text).await.map_err(told) })
    }
}

async fn waiting(
    village: &VillageState,
    providers: &dyn BuildsProviders,
    asked: Unanswered,
) -> Result<Planned, ApiError> {
    let player: PlayerId = asked.author.id.parse().map_err(|_| ApiError::not_found())?;
    let facts = facts::read(village, asked.conversation, player).await?;
    let npc = facts.speaker(asked.to, &asked.text).ok_or_else(|| no_npc(asked.to))?;
    cast(providers, &facts, npc, asked.author, Asked::Now(asked.text))
}

/// What the Player reads beside the text that waits on.
fn told(error: ApiError) -> MessageError {
    let kind = match error.code {
        ErrorCode::NoProviderKey => ErrorKind::Auth,
        ErrorCode::StoreUnavailable => ErrorKind::Store,
        _ => ErrorKind::Request,
    };
    MessageError { code: error.code, message: error.message, kind, provider: None, status: None, retryable: true }
}
