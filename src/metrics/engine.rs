//! What the engine tells of, as its observer.

use std::time::Duration;

use hamlet_actors::ports::observer::{EndedTurn, Observer, ProviderCall, ToolRan};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};

use super::{genai::GenAi, seconds, short_seconds, turns::Turns};

/// No tool's name: whoever adds a tool server would add series.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    outcome: &'static str,
}

#[derive(Debug)]
pub struct EngineMetrics {
    turns: Turns,
    admitted: Counter,
    took: Histogram,
    first_shown: Histogram,
    added: Histogram,
    genai: GenAi,
    tools: Family<ToolLabels, Histogram, fn() -> Histogram>,
    mailbox_full: Counter,
    restarts: Counter,
    quarantines: Counter,
}

impl EngineMetrics {
    pub fn new(turns: Turns) -> Self {
        Self {
            turns,
            admitted: Counter::default(),
            took: Histogram::new(seconds()),
            first_shown: Histogram::new(seconds()),
            added: Histogram::new(short_seconds()),
            genai: GenAi::default(),
            tools: Family::new_with_constructor(|| Histogram::new(seconds())),
            mailbox_full: Counter::default(),
            restarts: Counter::default(),
            quarantines: Counter::default(),
        }
    }

    pub fn register(&self, registry: &mut Registry) {
        self.genai.register(registry);
        let hamlet = registry.sub_registry_with_prefix("hamlet");
        hamlet.register("turns_admitted", "Turns whose admission was stored", self.admitted.clone());
        hamlet.register_with_unit(
            "turn_duration",
            "From a turn's request to its terminal frame",
            Unit::Seconds,
            self.took.clone(),
        );
        hamlet.register_with_unit(
            "time_to_first_token",
            "From a turn's request to the first piece of its reply that is shown",
            Unit::Seconds,
            self.first_shown.clone(),
        );
        hamlet.register_with_unit(
            "added_latency",
            "From the decoding of a piece to its showing, the commit included; a sample",
            Unit::Seconds,
            self.added.clone(),
        );
        hamlet.register_with_unit(
            "tool_call_duration",
            "From a tool call's beginning to its result, by outcome",
            Unit::Seconds,
            self.tools.clone(),
        );
        hamlet.register(
            "mailbox_refusals",
            "Requests refused because too many waited for their Conversation",
            self.mailbox_full.clone(),
        );
        hamlet.register("actor_restarts", "Actors that failed and were started again", self.restarts.clone());
        hamlet.register("actor_quarantines", "Actors that kept failing and were set aside", self.quarantines.clone());
    }
}

impl Observer for EngineMetrics {
    fn turn_admitted(&self) {
        self.admitted.inc();
    }

    fn first_shown(&self, waited: Duration) {
        self.first_shown.observe(waited.as_secs_f64());
    }

    fn shown(&self, added: Duration) {
        self.added.observe(added.as_secs_f64());
    }

    fn turn_ended(&self, turn: EndedTurn, took: Duration) {
        self.turns.ended(turn.status, turn.code, 1);
        self.took.observe(took.as_secs_f64());
    }

    fn provider_answered(&self, call: &ProviderCall<'_>) {
        self.genai.call(call);
    }

    fn tool_ran(&self, how: ToolRan, took: Duration) {
        let outcome = match how {
            ToolRan::Answered => "answered",
            ToolRan::Failed => "failed",
            ToolRan::Late => "late",
            ToolRan::HandedOver => "handed-over",
        };
        self.tools.get_or_create(&ToolLabels { outcome }).observe(took.as_secs_f64());
    }

    fn mailbox_full(&self) {
        self.mailbox_full.inc();
    }

    fn actor_restarted(&self) {
        self.restarts.inc();
    }

    fn actor_quarantined(&self) {
        self.quarantines.inc();
    }
}
