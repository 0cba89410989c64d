//! A Conversation: pure state (`state`, `turn_state`) inside a thin actor (`actor`), and the log of frames that its
//! watchers read (`frame_log`).

pub mod actor;
mod admission;
pub mod debts;
pub mod effect;
pub mod event;
pub mod frame_log;
mod frames;
pub mod mailbox;
mod positions;
pub mod queue;
pub mod reflection;
mod running;
pub mod state;
mod turn_state;
pub mod vitals;
mod waiters;

pub use actor::Ports;
pub use effect::{
    AbortRefusal, Aborted, Answer, BeginRefusal, Begun, ChangeRefusal, Effect, Progress, Published, Question,
};
pub use event::{Begin, Cast, Decision, Event, Intent, OnBusy, QueueChange, Select, Ticket};
pub use state::Conversation;
