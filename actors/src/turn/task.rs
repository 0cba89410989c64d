//! What the tasks of a turn have in common: whom they report to, and who may end them. A task is never awaited inside the
//! actor; it reports piece by piece, and last that it is over, whatever its end.

use std::{pin::Pin, sync::Arc};

use super::{
    Cancelled, Gate, TurnPlan, WhenUnwatched, buffer::Buffer, gather::Gathered, stopwatch::Stopwatch, unwatched,
};
use crate::{
    conversation::{Ports, Progress, event::Pass, frame_log::FrameLog, mailbox::ConversationMsg},
    policy::outcome::Ending,
    vocabulary::{ConversationId, Delta, TurnId},
};

/// Who is asked, where, and how far it has come.
#[derive(Clone)]
pub struct Site {
    pub conversation: ConversationId,
    pub plan: Arc<TurnPlan>,
    pub progress: Arc<Progress>,
    pub ports: Arc<Ports>,
}

/// One task of a turn: an answer of the model, or the calls that it made.
pub struct Task {
    pub site: Site,
    pub turn: TurnId,
    pub actor: ractor::ActorRef<ConversationMsg>,
    /// Opened by the actor when the report that is on its way is durable.
    pub gate: Arc<Gate>,
}

impl Task {
    pub fn reports(&self) -> Reports {
        Reports { turn: self.turn, actor: self.actor.clone(), gate: Arc::clone(&self.gate) }
    }

    /// The last thing that a task says. Without its actor it has nobody to report to: the claim of the next instance ends the
    /// Message.
    pub fn report(&self, buffer: Buffer, over: Over, gathered: Option<Arc<Gathered>>) {
        let (tail, usage) = buffer.into_tail();
        let Over { ending, pass } = over;
        let (pass, next_plan) = pass.map_or((None, None), |(pass, plan)| (Some(Box::new(pass)), plan));
        let over = ConversationMsg::TurnEnded { turn: self.turn, tail, usage, ending, pass, next_plan, gathered };
        drop(self.actor.cast(over));
    }
}

/// How a task ended, and who goes on, if another NPC does.
#[derive(Debug)]
pub struct Over {
    pub ending: Ending,
    pub pass: Option<(Pass, Option<Box<TurnPlan>>)>,
}

/// Who may end a task before its own end: whoever asks the actor, and the last watcher's leaving.
pub struct Watching {
    cancelled: Cancelled,
    leaving: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Watching {
    pub fn new(cancelled: Cancelled, log: Arc<FrameLog>, when: WhenUnwatched) -> Self {
        Self { cancelled, leaving: Box::pin(unwatched::left(log, when)) }
    }

    /// Resolves when the task is to end so.
    pub async fn ended(&mut self) -> Ending {
        tokio::select! {
            biased;
            ending = self.cancelled.asked() => ending,
            () = &mut self.leaving => Ending::Aborted,
        }
    }

    /// Likewise, while nothing of the turn is stored yet, and nobody can watch it.
    pub async fn cancelled(&mut self) -> Ending {
        self.cancelled.asked().await
    }
}

/// Pieces on their way to the actor, one report at a time.
pub struct Reports {
    turn: TurnId,
    actor: ractor::ActorRef<ConversationMsg>,
    pub gate: Arc<Gate>,
}

impl Reports {
    /// False when nobody is there to be told.
    pub fn send(&self, deltas: Vec<Delta>) -> bool {
        self.actor.cast(ConversationMsg::Deltas { turn: self.turn, deltas }).is_ok()
    }

    /// Likewise, with the time at which it was decoded.
    pub fn send_timed(&self, deltas: Vec<Delta>, watch: &mut Stopwatch) -> bool {
        if let Some(decoded) = watch.take_decoded() {
            self.gate.time(decoded);
        }
        self.send(deltas)
    }
}
