//! What was decoded and not yet handed to the Journal. It lives outside the part of the turn that can be cancelled or
//! panic, so that a cut turn still returns its tail (promise 4).

use crate::vocabulary::{Delta, Usage, merge};

#[derive(Debug, Default)]
pub struct Buffer {
    deltas: Vec<Delta>,
    bytes: usize,
    usage: Option<Usage>,
}

impl Buffer {
    /// Answers how many bytes were added, about.
    pub fn push(&mut self, delta: Delta) -> usize {
        let added = delta.bytes();
        self.bytes += added;
        merge(&mut self.deltas, [delta]);
        added
    }

    pub fn extend(&mut self, deltas: impl IntoIterator<Item = Delta>) {
        for delta in deltas {
            self.push(delta);
        }
    }

    /// Takes over what the Provider reported, field by field where it is silent.
    pub fn report_usage(&mut self, usage: Usage) {
        let known = self.usage.unwrap_or_default();
        self.usage = Some(Usage {
            input_tokens: usage.input_tokens.or(known.input_tokens),
            output_tokens: usage.output_tokens.or(known.output_tokens),
            reasoning_tokens: usage.reasoning_tokens.or(known.reasoning_tokens),
            cached_input_tokens: usage.cached_input_tokens.or(known.cached_input_tokens),
        });
    }

    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    pub fn is_empty(&self) -> bool {
        self.deltas.is_empty()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn take(&mut self) -> Vec<Delta> {
        self.bytes = 0;
        std::mem::take(&mut self.deltas)
    }

    pub fn into_tail(self) -> (Vec<Delta>, Option<Usage>) {
        (self.deltas, self.usage)
    }
}
