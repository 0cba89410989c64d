//! What the engine needs of the world, one small trait each. Adapters live in the server; the tests bring their own.

pub mod clock;
pub mod journal;
pub mod observer;
pub mod provider;

pub use clock::{Clock, SystemClock};
pub use observer::{Observer, Unobserved};
pub use provider::{
    End, ModelRequest, Provider, ProviderEvent, ProviderEvents, ProviderFailure, RequestItem, ToolSpec,
};
