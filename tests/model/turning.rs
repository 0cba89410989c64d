//! The turn's task, and the search for who answers what waits.

use hamlet_actors::{
    conversation::{Cast, Event, OnBusy, event::Pass},
    policy::{
        calls::{Judged, Ruling},
        outcome::{Ending, answered_call},
    },
    ports::{End, ProviderFailure},
    vocabulary::{
        CallDelta, Delta, ErrorCode, ErrorKind, FinishReason, Hop, MessageError, MessageId, NpcId, Opaque, ToolCall,
        TurnId, Usage,
    },
};

use crate::{
    actor::Task,
    broken::Checked,
    happening::{How, Speech},
    world::World,
};

impl World {
    /// A question and its answer. Where something else is under way, as much of it as fits in.
    pub async fn chat(&mut self) -> Checked {
        self.store_and_hear().await?;
        self.say(OnBusy::Reject, None).await?;
        self.store_and_hear().await?;
        self.store_and_hear().await?;
        self.speak(Speech::Text).await?;
        self.store_and_hear().await?;
        self.end(How::Complete).await?;
        self.store_and_hear().await
    }

    /// The Provider, or a tool, sends something. One report is on its way at a time; what comes meanwhile waits in the task.
    pub async fn speak(&mut self, speech: Speech) -> Checked {
        let n = self.number();
        let Some((number, actor)) = self.actors.iter_mut().find(|(_, actor)| speaks(actor.task.as_ref())) else {
            return Ok(());
        };
        let number = *number;
        let Some(task) = actor.task.as_mut() else { return Ok(()) };
        let turn = task.turn;
        match &mut task.calls {
            None => task.decode(delta(speech, n)),
            Some(calls) => {
                let Some(call) = calls.pop() else { return Ok(()) };
                answer(call).into_iter().for_each(|delta| task.decode(delta));
            }
        }
        if !std::mem::replace(&mut task.gate_open, false) {
            return Ok(());
        }
        let deltas = std::mem::take(&mut task.buffer);
        self.tell(format!("turn {turn} (actor {number}) reports: {}", short(&deltas)));
        self.ledger.spoke(turn, &deltas);
        let now = self.at();
        self.give(number, Event::DeltasArrived { turn, deltas, now }).await
    }

    /// The first task that can come to its end does.
    pub async fn end(&mut self, how: How) -> Checked {
        let n = self.number();
        let ending = |task: &mut Task| {
            let asked = match (task.released, &task.cancelled, how) {
                _ if task.over => return None,
                (_, Some(asked), How::AsAsked) => return Some((asked.clone(), None)),
                (_, _, How::Panicked) => return Some((Ending::Panicked, None)),
                // Nothing was asked of the Provider yet.
                (false, _, _) => return None,
                (true, _, how) => how,
            };
            Some(match task.calls.take() {
                Some(calls) => called(task, calls, asked),
                None => (answered(task, asked, n), None),
            })
        };
        let found = self.actors.iter_mut().find_map(|(number, actor)| {
            let task = actor.task.as_mut()?;
            let (ending, handed) = ending(task)?;
            task.over = true;
            Some((*number, task.turn, std::mem::take(&mut task.buffer), ending, handed))
        });
        let Some((number, turn, tail, ending, handed)) = found else { return Ok(()) };
        self.tell(format!("turn {turn} (actor {number}) ends a task: {}, with {}", ending.name(), short(&tail)));
        self.ledger.spoke(turn, &tail);
        let usage = matches!(ending, Ending::Provider(_)).then(usage);
        let pass = handed.map(|(call, can)| {
            Box::new(Pass {
                call: Some(call),
                to: NpcId::generate(),
                to_name: "Bo".to_owned(),
                message: "Go on.".to_owned(),
                reply: MessageId::generate(),
                cast: if can { Ok(self.cast()) } else { Err(nobody()) },
            })
        });
        let now = self.at();
        self.give(number, Event::TurnEnded { turn, tail, usage, ending, pass, now }).await
    }

    /// Whoever was over long ago says something once more.
    pub async fn speak_late(&mut self, how: How) -> Checked {
        let Some(number) = self.seated else { return Ok(()) };
        let runs: Vec<TurnId> = self.actors.values().filter_map(|actor| actor.state.running_turn()).collect();
        let Some(turn) = self.ledger.turns.iter().rev().find(|turn| !runs.contains(turn)).copied() else {
            return Ok(());
        };
        self.tell(format!("turn {turn} says something, though it has ended"));
        let (deltas, now) = (vec![Delta::Text("too late".to_owned())], self.at());
        self.give(number, Event::DeltasArrived { turn, deltas: deltas.clone(), now }).await?;
        let ending = ending(how);
        self.give(number, Event::TurnEnded { turn, tail: deltas, usage: None, ending, pass: None, now }).await
    }

    pub async fn plan(&mut self, found: bool) -> Checked {
        let planning = self.actors.iter_mut().find_map(|(number, actor)| Some((*number, actor.planning.take()?)));
        let Some((number, (attempt, item))) = planning else { return Ok(()) };
        self.tell(format!("for {:?} somebody is found: {found}", item.text));
        let cast = self.cast();
        if let Some(actor) = self.actors.get_mut(&number) {
            if found {
                actor.planned = Some(item.text);
            } else {
                self.ledger.may_pause = true;
            }
        }
        let outcome = if found { Ok(cast) } else { Err(nobody()) };
        let now = self.at();
        self.give(number, Event::Planned { attempt, outcome, now }).await
    }

    /// A search that nobody waits for any more.
    pub async fn plan_late(&mut self) -> Checked {
        let Some(number) = self.seated else { return Ok(()) };
        let Some(actor) = self.actors.get(&number) else { return Ok(()) };
        let newest = actor.planning.as_ref().map_or(u64::MAX, |(attempt, _)| attempt.saturating_sub(1));
        let (outcome, now) = (Ok(self.cast()), self.at());
        self.give(number, Event::Planned { attempt: newest, outcome, now }).await
    }

    fn cast(&self) -> Cast {
        Cast {
            speaker: self.npc(),
            provider_name: "mock".to_owned(),
            model: self.model(),
            hop: Hop { count: 0, limit: 6 },
            step_limit: 16,
        }
    }
}

/// How the calls of an answer end: each has its result, but one that hands over.
fn called(task: &mut Task, mut calls: Vec<ToolCall>, how: How) -> (Ending, Option<(String, bool)>) {
    let handed = match how {
        How::HandsOver { can } => calls.pop().map(|call| (call.tool_call_id, can)),
        _ => None,
    };
    match how {
        How::Complete | How::AsAsked | How::Calls { .. } | How::HandsOver { .. } => {
            calls.into_iter().flat_map(answer).for_each(|delta| task.decode(delta));
            (Ending::Called, handed)
        }
        // What runs is cut.
        how => (ending(how), None),
    }
}

/// How an answer ends: with a call that is ruled on, or otherwise.
fn answered(task: &mut Task, how: How, n: u64) -> Ending {
    let How::Calls { ruling } = how else { return ending(how) };
    let id = format!("made-{n}");
    let arguments = format!("{{\"n\": {n}}}");
    task.decode(Delta::Call(CallDelta { id: id.clone(), name: "look".to_owned(), arguments, closed: true }));
    let ruling = match ruling {
        0 | 1 => Ruling::Run,
        2 => Ruling::Ask,
        _ => Ruling::Misfit("not run: it does not fit".to_owned()),
    };
    Ending::Calls(FinishReason::ToolCalls, vec![Judged { call_id: id, ruling }])
}

fn answer(call: ToolCall) -> [Delta; 2] {
    answered_call(call, "seen".into(), false)
}

fn speaks(task: Option<&Task>) -> bool {
    task.is_some_and(|task| task.released && !task.over && task.cancelled.is_none())
}

fn delta(speech: Speech, n: u64) -> Delta {
    match speech {
        Speech::Text => Delta::Text(format!("w{n} ")),
        Speech::Odd => Delta::Text(format!("\"{n}\\\u{1}\n\u{e9}\u{1F600}")),
        Speech::Thought => Delta::Reasoning(format!("t{n} ")),
        Speech::Long => Delta::Text(format!("{n}{} ", "long ".repeat(14_000))),
        Speech::Opaque => Delta::Opaque(Opaque { signature: Some(format!("s{n}")), ..Opaque::default() }),
        Speech::Call { which, closed } => {
            let arguments = if closed { format!("{{\"n\": {n}}}") } else { format!("{{\"n\": {n}") };
            Delta::Call(CallDelta { id: format!("call-{which}"), name: "look".to_owned(), arguments, closed })
        }
    }
}

fn ending(how: How) -> Ending {
    let complete = |reason| Ending::Provider(End::Complete(reason));
    match how {
        How::Complete | How::AsAsked | How::Calls { .. } | How::HandsOver { .. } => complete(FinishReason::Stop),
        How::CutByLength => complete(FinishReason::Length),
        How::Filtered => complete(FinishReason::ContentFilter),
        How::Truncated => Ending::Provider(End::Truncated),
        How::Failed => Ending::Provider(End::Failed(ProviderFailure {
            code: ErrorCode::ProviderError,
            kind: ErrorKind::Server,
            message: "The model is on fire.".to_owned(),
            status: Some(500),
            retryable: true,
        })),
        How::Panicked => Ending::Panicked,
        How::TooLong => Ending::TooLong,
        How::Unreadable => Ending::Unreadable,
    }
}

fn usage() -> Usage {
    Usage { input_tokens: Some(7), output_tokens: Some(11), ..Usage::default() }
}

fn nobody() -> MessageError {
    MessageError {
        code: ErrorCode::NoProviderKey,
        message: "no key".to_owned(),
        kind: ErrorKind::Auth,
        provider: None,
        status: None,
        retryable: true,
    }
}

fn short(deltas: &[Delta]) -> String {
    let words = format!("{deltas:?}");
    if words.len() <= 160 { words } else { format!("{} ...", words.chars().take(160).collect::<String>()) }
}
