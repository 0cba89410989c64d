//! The turn's task, and the search for who answers what waits.

use hamlet_actors::{
    conversation::{Cast, Event, OnBusy},
    policy::outcome::Ending,
    ports::{End, ProviderFailure},
    vocabulary::{CallDelta, Delta, ErrorCode, ErrorKind, FinishReason, Hop, MessageError, Opaque, TurnId, Usage},
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

    /// The Provider sends something. One report is on its way at a time; what comes meanwhile waits in the task.
    pub async fn speak(&mut self, speech: Speech) -> Checked {
        let n = self.number();
        let Some((number, actor)) = self.actors.iter_mut().find(|(_, actor)| speaks(actor.task.as_ref())) else {
            return Ok(());
        };
        let number = *number;
        let Some(task) = actor.task.as_mut() else { return Ok(()) };
        let turn = task.turn;
        task.decode(delta(speech, n));
        if !std::mem::replace(&mut task.gate_open, false) {
            return Ok(());
        }
        let deltas = std::mem::take(&mut task.buffer);
        self.tell(format!("the Provider of turn {turn} (actor {number}): {}", short(&deltas)));
        self.ledger.spoke(turn, &deltas);
        let now = self.at();
        self.give(number, Event::DeltasArrived { turn, deltas, now }).await
    }

    /// The first task that can come to its end does.
    pub async fn end(&mut self, how: How) -> Checked {
        let ending = |task: &Task| match (task.released, &task.cancelled, how) {
            _ if task.over => None,
            (_, Some(asked), How::AsAsked) => Some(asked.clone()),
            (_, _, How::Panicked) | (true, _, _) => Some(ending(how)),
            // Nothing was asked of the Provider yet.
            (false, _, _) => None,
        };
        let found = self.actors.iter_mut().find_map(|(number, actor)| {
            let task = actor.task.as_mut()?;
            let ending = ending(task)?;
            task.over = true;
            Some((*number, task.turn, std::mem::take(&mut task.buffer), ending))
        });
        let Some((number, turn, tail, ending)) = found else { return Ok(()) };
        self.tell(format!("turn {turn} (actor {number}) ends: {}, with {}", ending.name(), short(&tail)));
        self.ledger.spoke(turn, &tail);
        let usage = matches!(ending, Ending::Provider(_)).then(usage);
        let now = self.at();
        self.give(number, Event::TurnEnded { turn, tail, usage, ending, pass: None, now }).await
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
        How::Complete | How::AsAsked => complete(FinishReason::Stop),
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
