//! What a Conversation's actor can be sent.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{
    AbortRefusal, Aborted, Begin, BeginRefusal, Begun, ChangeRefusal, QueueChange, Select, Ticket,
    event::{Decision, Pass, Shown},
};
use crate::{
    policy::outcome::Ending,
    ports::journal::{Claimed, JournalError},
    turn::{Gathered, Planned, TurnPlan},
    vocabulary::{Delta, MessageError, TurnId, Usage},
};

/// Messages from outside hold a permit of the bounded mailbox until they are answered, and carry the ticket under which their sender asks again if
/// this instance fails; the turn's and the Journal's reports need neither.
pub enum ConversationMsg {
    /// From the Engine: begin a turn. Answered after its admission is committed or refused. Too late (the actor is going):
    /// the sender sees its answer dropped and asks the Village again.
    Begin {
        ticket: Ticket,
        begin: Box<Begin>,
        plan: Box<TurnPlan>,
        answer: oneshot::Sender<Result<Begun, BeginRefusal>>,
        permit: OwnedSemaphorePermit,
    },
    /// From the Engine: stop. Answered after the terminal frame is committed; at once when nothing runs.
    Abort {
        ticket: Ticket,
        turn: Option<TurnId>,
        answer: oneshot::Sender<Result<Aborted, AbortRefusal>>,
        permit: OwnedSemaphorePermit,
    },
    /// From the Engine: change what waits. Answered after the commit. Too late (it was taken up): refused.
    Change {
        ticket: Ticket,
        change: QueueChange,
        answer: oneshot::Sender<Result<(), ChangeRefusal>>,
        permit: OwnedSemaphorePermit,
    },
    /// From the Engine: take up what waits. Answered as a `Begin` is.
    Resume { ticket: Ticket, answer: oneshot::Sender<Result<Begun, BeginRefusal>>, permit: OwnedSemaphorePermit },
    /// From the Engine: bring an earlier variant back. Answered after the commit; refused while a turn runs.
    Select {
        ticket: Ticket,
        select: Box<Select>,
        answer: oneshot::Sender<Result<(), ChangeRefusal>>,
        permit: OwnedSemaphorePermit,
    },
    /// From the actor's own search for who answers what is being taken up. Too late: another search is under way.
    Planned { attempt: u64, outcome: Result<Box<Planned>, MessageError> },
    /// From the turn's task: decoded pieces; the turn's gate opens once they are durable. Too late: dropped.
    Deltas { turn: TurnId, deltas: Vec<Delta> },
    /// From a task of the turn, the last thing it says. Too late: ignored.
    TurnEnded {
        turn: TurnId,
        tail: Vec<Delta>,
        usage: Option<Usage>,
        ending: Ending,
        pass: Option<Box<Pass>>,
        /// How the next speaker is asked, when one is to go on and can.
        next_plan: Option<Box<TurnPlan>>,
        /// For further steps of the same part.
        gathered: Option<Arc<Gathered>>,
    },
    /// From the Engine: whether a call may run. Answered after the commit. Too late (it does not wait any more): refused.
    Decide {
        ticket: Ticket,
        call: String,
        decision: Decision,
        answer: oneshot::Sender<Result<(), ChangeRefusal>>,
        permit: OwnedSemaphorePermit,
    },
    /// From a capability that thought about a turn that has ended. Too late (it has another title by now): dropped.
    Retitled { shown: Arc<Shown>, title: String },
    /// From the Journal: the claim.
    Claimed(Result<Claimed, JournalError>),
    /// From the Journal: the batch in flight.
    Settled(Result<(), JournalError>),
    /// From the actor itself, a while after the store refused.
    RetryDue,
    /// From the actor itself: whether what went to the store before is still on its way.
    LookDue,
    /// From the Village: sleep, if there is nothing to do.
    Retire,
    /// From the Village: the process is being stopped; end what runs.
    ShutDown,
    /// From the Village: the Player gave another title.
    Renamed { title: Option<String> },
    /// From the Village: the Conversation is deleted; end what runs, without waiting for more.
    Delete,
}
