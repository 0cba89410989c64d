//! Who answers in a test Village, and with what: as the test says.

#![expect(clippy::unwrap_used, reason = "a test support that fails, fails the test")]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use hamlet_actors::{
    conversation::Cast,
    ports::{Model, Provider},
    turn::{CallLimits, Planned, Planner, TurnPlan, Unanswered, WhenUnwatched},
    vocabulary::{Approval, Author, AuthorKind, Grant, Hop, MessageError, Npc, NpcId, SpeakerPolicy},
};

use crate::ScriptedProvider;

/// Casts every text with the NPC addressed, else the first, unless the test says that nobody can answer.
pub struct TestPlanner {
    party: Mutex<Vec<Npc>>,
    grants: Mutex<Vec<Grant>>,
    policy: Mutex<SpeakerPolicy>,
    utility: Mutex<Option<Model>>,
    knows_from: AtomicI64,
    call_limits: Mutex<CallLimits>,
    step_limit: AtomicU32,
    window_tokens: AtomicUsize,
    provider: Arc<ScriptedProvider>,
    refuses: Mutex<Option<MessageError>>,
    asked: AtomicUsize,
}

impl TestPlanner {
    pub(crate) fn of(npc: Npc, provider: Arc<ScriptedProvider>) -> Self {
        Self {
            party: Mutex::new(vec![npc]),
            grants: Mutex::default(),
            policy: Mutex::default(),
            utility: Mutex::default(),
            knows_from: AtomicI64::new(0),
            call_limits: Mutex::new(CallLimits { run: Duration::from_secs(5), approval: Duration::from_secs(5) }),
            step_limit: AtomicU32::new(16),
            window_tokens: AtomicUsize::new(60_000),
            provider,
            refuses: Mutex::new(None),
            asked: AtomicUsize::new(0),
        }
    }

    pub(crate) fn steps(&self) -> u32 {
        self.step_limit.load(Ordering::SeqCst)
    }

    /// From now on nobody can answer, for this reason; None: somebody can again.
    pub fn refuse(&self, error: Option<MessageError>) {
        *self.refuses.lock().unwrap() = error;
    }

    /// These are there, in this order.
    pub fn seat(&self, party: &[Npc]) {
        *self.party.lock().unwrap() = party.to_vec();
    }

    /// Titles and summaries are asked of this one.
    pub fn ask_for_work(&self, provider: &Arc<ScriptedProvider>) {
        *self.utility.lock().unwrap() = Some(Model { provider: provider.clone(), name: "small".to_owned() });
    }

    /// Whoever speaks is told what was said from this place on.
    pub fn know_from(&self, place: i64) {
        self.knows_from.store(place, Ordering::SeqCst);
    }

    pub fn follow(&self, policy: SpeakerPolicy) {
        *self.policy.lock().unwrap() = policy;
    }

    /// What everybody may call.
    pub fn grant(&self, tool: &str, approval: Approval) {
        self.grants.lock().unwrap().push(Grant { tool: tool.to_owned(), approval });
    }

    pub fn limit_calls(&self, limits: CallLimits) {
        *self.call_limits.lock().unwrap() = limits;
    }

    pub fn limit_steps(&self, steps: u32) {
        self.step_limit.store(steps, Ordering::SeqCst);
    }

    pub fn limit_window(&self, tokens: usize) {
        self.window_tokens.store(tokens, Ordering::SeqCst);
    }

    fn speaker(&self, to: Option<NpcId>) -> Npc {
        let party = self.party.lock().unwrap();
        party.iter().find(|npc| Some(npc.id) == to).unwrap_or(&party[0]).clone()
    }

    fn cast(&self, to: Option<NpcId>) -> Cast {
        let npc = self.speaker(to);
        Cast {
            speaker: Author { kind: AuthorKind::Npc, id: npc.id.to_string(), name: npc.name },
            provider_name: "Scripted".to_owned(),
            model: (self.provider.id(), "scripted".to_owned()),
            hop: Hop { count: 0, limit: 6 },
            step_limit: self.step_limit.load(Ordering::SeqCst),
        }
    }

    pub(crate) fn plan_for(
        &self,
        to: Option<NpcId>,
        player: Author,
        question: Option<&str>,
        when_unwatched: WhenUnwatched,
    ) -> TurnPlan {
        TurnPlan {
            npc: self.speaker(to),
            party: self.party.lock().unwrap().as_slice().into(),
            player,
            policy: *self.policy.lock().unwrap(),
            grants: self.grants.lock().unwrap().as_slice().into(),
            model: "scripted".to_owned(),
            provider: self.provider.clone(),
            utility: self.utility.lock().unwrap().clone(),
            window_tokens: self.window_tokens.load(Ordering::SeqCst),
            question: question.map(Arc::from),
            topic: question.unwrap_or_default().into(),
            knows_from: self.knows_from.load(Ordering::SeqCst),
            when_unwatched,
            call_limits: *self.call_limits.lock().unwrap(),
        }
    }

    /// How often it was asked.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Planner for TestPlanner {
    fn plan(&self, text: Unanswered) -> BoxFuture<'static, Result<Planned, MessageError>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let planned = match self.refuses.lock().unwrap().clone() {
            Some(error) => Err(error),
            None => Ok(Planned {
                cast: self.cast(text.to),
                plan: self.plan_for(text.to, text.author, Some(&text.text), WhenUnwatched::Finish),
            }),
        };
        Box::pin(async move { planned })
    }
}
