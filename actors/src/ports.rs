//! What the engine needs of the world, one small trait each. Adapters live in the server; the tests bring their own.

pub mod clock;
pub mod journal;
pub mod memory;
pub mod model;
pub mod observer;
pub mod prompts;
pub mod provider;
pub mod summaries;
pub mod tool;

pub use clock::{Clock, SystemClock};
pub use memory::Memory;
pub use model::Model;
pub use observer::{Observer, Unobserved};
pub use prompts::{PromptRecord, Prompts, Recipe};
pub use provider::{
    End, ModelRequest, Provider, ProviderEvent, ProviderEvents, ProviderFailure, RequestItem, ToolSpec,
};
pub use summaries::{Kept, Summaries, SummaryDraft};
pub use tool::{Handoff, Invocation, Tool, ToolAnswer, ToolOutcome};
