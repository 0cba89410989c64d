//! Turns by how they ended: told by the engine of those that ended by themselves, by the store of those that recovery
//! ended. Both count into the same numbers, so that there is one to alarm on.

use hamlet_actors::vocabulary::{ErrorCode, MessageStatus};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    outcome: &'static str,
    /// Of the error that was stored with the reply; empty where there was none.
    code: &'static str,
}

#[derive(Debug, Clone, Default)]
pub struct Turns {
    ended: Family<Labels, Counter>,
}

impl Turns {
    pub fn register(&self, registry: &mut Registry) {
        // Shown from the start: the first of a kind would otherwise be no increase.
        for outcome in [MessageStatus::Complete, MessageStatus::Aborted] {
            drop(self.ended.get_or_create(&Labels { outcome: outcome.as_str(), code: "" }));
        }
        registry.register("turns", "Turns that ended, by outcome and the code of their error", self.ended.clone());
    }

    pub fn ended(&self, outcome: MessageStatus, code: Option<ErrorCode>, count: u64) {
        let labels = Labels { outcome: outcome.as_str(), code: code.map_or("", ErrorCode::as_str) };
        self.ended.get_or_create(&labels).inc_by(count);
    }
}
