//! The turn's task as its actor holds it: one at a time, and dropping it ends it at once. What outlives a task is here too:
//! how the speaker is asked, what the capabilities brought, and what is measured.

use std::{collections::HashMap, sync::Arc, time::Instant};

use tokio::sync::oneshot;
use tokio_util::task::{AbortOnDropHandle, task_tracker::TaskTrackerToken};

use super::{
    actor::Ports,
    effect::{Progress, Question},
    event::Decision,
    frame_log::FrameLog,
    mailbox::ConversationMsg,
};
use crate::{
    policy::outcome::Ending,
    reply::reply,
    turn::{CallsTask, Cancel, Gate, Gathered, Site, StepTask, Task, TurnPlan, Watching, cancellation},
    vocabulary::{CallState, ConversationId, ToolCall, TurnId},
};

pub struct Running {
    pub turn: TurnId,
    /// How the present speaker is asked.
    pub plan: Arc<TurnPlan>,
    /// How the next one is, when another NPC is to go on.
    pub next_plan: Option<Box<TurnPlan>>,
    /// What the capabilities brought to the present speaker's part.
    pub gathered: Option<Arc<Gathered>>,
    pub timing: Timing,
    cancel: Cancel,
    gate: Arc<Gate>,
    release: Option<oneshot::Sender<()>>,
    /// Calls that wait for somebody's yes.
    decisions: HashMap<String, oneshot::Sender<Decision>>,
    /// Counts the turn until its end is stored.
    _counted: TaskTrackerToken,
    _task: AbortOnDropHandle<()>,
}

/// What is measured of a turn, from its first step to its last.
#[derive(Clone, Copy)]
pub struct Timing {
    pub begun: Instant,
    /// Whether a piece of a reply has been shown.
    pub seen: bool,
}

/// Where a turn's tasks are spawned.
pub struct Bench<'a> {
    pub conversation: ConversationId,
    pub ports: &'a Arc<Ports>,
    pub log: &'a Arc<FrameLog>,
    pub actor: &'a ractor::ActorRef<ConversationMsg>,
}

/// What a task is told of the turn that it is part of.
struct Part {
    turn: TurnId,
    plan: Arc<TurnPlan>,
    gathered: Option<Arc<Gathered>>,
    timing: Timing,
}

impl Bench<'_> {
    /// Spawns a step. `plan`: how the turn is asked, as the gates or the search for who answers left it; None for a further
    /// step of the turn that runs. None when there is no plan at all.
    pub fn step(
        &self,
        running: Option<Running>,
        plan: Option<Box<TurnPlan>>,
        turn: TurnId,
        before_position: i64,
        question: Question,
        progress: Arc<Progress>,
    ) -> Option<Running> {
        let part = match (running.filter(|running| running.turn == turn), plan) {
            (Some(running), _) => further(running, question)?,
            (None, plan) => Part {
                turn,
                plan: Arc::new(*plan?),
                gathered: None,
                timing: Timing { begun: Instant::now(), seen: false },
            },
        };
        let (release, released) = oneshot::channel();
        let (cancel, task, watching) = self.task(&part, progress);
        let gate = Arc::clone(&task.gate);
        let step = StepTask { task, before_position, gathered: part.gathered.clone(), released, watching };
        let task = AbortOnDropHandle::new(tokio::spawn(step.run()));
        Some(self.running(part, cancel, gate, Some(release), HashMap::new(), task))
    }

    /// Spawns the calls of an answer. None when nothing of the turn is known any more.
    pub fn calls(
        &self,
        running: Option<Running>,
        turn: TurnId,
        calls: Vec<ToolCall>,
        progress: Arc<Progress>,
    ) -> Option<Running> {
        let Running { plan, gathered, timing, .. } = running.filter(|running| running.turn == turn)?;
        let gathered = gathered?;
        let part = Part { turn, plan, gathered: Some(Arc::clone(&gathered)), timing };
        let (mut waiting, mut decisions) = (HashMap::new(), HashMap::new());
        for call in calls.iter().filter(|call| call.state == CallState::AwaitingApproval) {
            let (decide, decided) = oneshot::channel();
            waiting.insert(call.tool_call_id.clone(), decide);
            decisions.insert(call.tool_call_id.clone(), decided);
        }
        let (cancel, task, watching) = self.task(&part, progress);
        let gate = Arc::clone(&task.gate);
        let calls = CallsTask { task, watching, gathered, calls, decisions };
        let task = AbortOnDropHandle::new(tokio::spawn(calls.run()));
        Some(self.running(part, cancel, gate, None, waiting, task))
    }

    /// Where the turn was, once it is over.
    pub fn site(&self, running: Option<&Running>, turn: TurnId) -> Option<Site> {
        let running = running.filter(|running| running.turn == turn)?;
        Some(Site {
            conversation: self.conversation,
            plan: Arc::clone(&running.plan),
            progress: Arc::new(Progress::default()),
            ports: Arc::clone(self.ports),
        })
    }

    fn task(&self, part: &Part, progress: Arc<Progress>) -> (Cancel, Task, Watching) {
        let (cancel, cancelled) = cancellation();
        let watching = Watching::new(cancelled, Arc::clone(self.log), part.plan.when_unwatched);
        let site = Site {
            conversation: self.conversation,
            plan: Arc::clone(&part.plan),
            progress,
            ports: Arc::clone(self.ports),
        };
        let task = Task { site, turn: part.turn, actor: self.actor.clone(), gate: Arc::new(Gate::default()) };
        (cancel, task, watching)
    }

    fn running(
        &self,
        part: Part,
        cancel: Cancel,
        gate: Arc<Gate>,
        release: Option<oneshot::Sender<()>>,
        decisions: HashMap<String, oneshot::Sender<Decision>>,
        task: AbortOnDropHandle<()>,
    ) -> Running {
        let Part { turn, plan, gathered, timing } = part;
        Running {
            turn,
            plan,
            next_plan: None,
            gathered,
            timing,
            cancel,
            gate,
            release,
            decisions,
            _counted: self.ports.turns.token(),
            _task: task,
        }
    }
}

/// The turn that runs, with what it is asked now.
fn further(running: Running, question: Question) -> Option<Part> {
    let Running { turn, plan, next_plan, gathered, timing, .. } = running;
    let (plan, gathered) = match question {
        Question::Planned => (plan, gathered),
        Question::InHistory => match plan.question {
            None => (plan, gathered),
            Some(_) => (Arc::new(TurnPlan { question: None, ..(*plan).clone() }), gathered),
        },
        // What is remembered of it is looked for anew.
        Question::Said(text) => {
            let topic = Arc::clone(&text);
            (Arc::new(TurnPlan { question: Some(text), topic, ..(*plan).clone() }), None)
        }
        Question::Passed => (Arc::new(TurnPlan { question: None, ..*next_plan? }), None),
    };
    Some(Part { turn, plan, gathered, timing })
}

impl Running {
    pub fn cancel(&mut self, ending: Ending) {
        self.cancel.ask(ending);
    }

    pub fn release(&mut self) {
        if let Some(release) = self.release.take() {
            // The task may have ended already: its report is on the way.
            reply(release, ());
        }
    }

    pub fn decide(&mut self, call: &str, decision: Decision) {
        if let Some(waiting) = self.decisions.remove(call) {
            // The task may have ended already: then the call is closed with the Message.
            reply(waiting, decision);
        }
    }

    /// Answers how long ago what the turn reported was decoded, if that is timed.
    pub fn open_gate(&self) -> Option<std::time::Duration> {
        self.gate.open()
    }
}
