//! A turn as owned tasks, one at a time: an answer of the model, the calls that it made, the next answer, until the
//! speaker's part ends. The Conversation's state decides what comes next; a task only does it, and tells how it ended.

mod answer;
mod buffer;
mod calls;
mod cancel;
pub mod context;
mod gate;
pub mod gather;
mod passing;
mod plan;
mod planner;
mod preview;
mod step;
mod stopwatch;
mod task;
mod toolbox;
mod unwatched;

pub use calls::CallsTask;
pub use cancel::{Cancel, Cancelled, cancellation};
pub use gate::Gate;
pub use gather::Gathered;
pub use plan::{CallLimits, TurnPlan};
pub use planner::{Planned, Planner, Unanswered, plan};
pub use preview::{Preview, preview};
pub use step::StepTask;
pub use task::{Site, Task, Watching};
pub use toolbox::Toolbox;
pub use unwatched::WhenUnwatched;
