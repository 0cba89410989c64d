//! What goes wrong, or comes to an end: as the Village and the process do it.

use hamlet_actors::{
    conversation::{Effect, Event, debts::Debts, vitals::ActorState},
    policy::outcome::Ending,
    ports::journal::{JournalError, Leftover},
    vocabulary::{Delta, Timestamp},
};
use http::{Method, StatusCode};

use crate::{
    actor::Ask,
    broken::{Checked, ensure, must},
    happening::{Fate, How},
    world::{Shown, World},
    writer::{self, From, Job, Work},
};

/// The Engine asks again so often, then it gives up.
const TRIES: u8 = 3;

impl World {
    /// The instance that sits in the Village fails.
    pub async fn fail_seated(&mut self, again: bool) -> Checked {
        let Some(number) = self.seated else { return Ok(()) };
        self.tell(format!("actor {number} panics"));
        self.fail(number, again).await
    }

    /// An instance is gone, with all that it kept. What it submitted is on its way to the store still.
    pub async fn fail(&mut self, number: usize, again: bool) -> Checked {
        let was_here = self.seated == Some(number);
        self.ledger.may_pause = true;
        if let Some(actor) = self.actors.remove(&number) {
            let unanswered = actor.asks.into_values().map(|ask| Ask { tries: ask.tries + 1, ..ask });
            self.again.extend(unanswered.filter(|ask| ask.tries < TRIES));
        }
        if !was_here {
            return Ok(());
        }
        self.seated = None;
        self.sleep_log();
        if again {
            Box::pin(self.find()).await?;
        } else {
            self.unended = true;
            self.end_without_actor();
        }
        Ok(())
    }

    /// The seat is taken by a new instance, and what the one before hands to the store is behind the new one's claim: a newer
    /// epoch keeps it out.
    pub async fn oust(&mut self) -> Checked {
        let Some(number) = self.seated else { return Ok(()) };
        self.tell(format!("actor {number} is ousted"));
        let last = self.actors.get_mut(&number).and_then(|actor| {
            let turn = actor.task.as_ref().filter(|task| task.released && !task.over)?.turn;
            let deltas = vec![Delta::Text("nobody heard this".to_owned())];
            let effects =
                actor.state.apply(Event::DeltasArrived { turn, deltas, now: Timestamp::from_millis(self.now) });
            effects.into_iter().find_map(|effect| match effect {
                Effect::Submit { batch, .. } => Some(batch),
                _ => None,
            })
        });
        self.fail(number, true).await?;
        if let Some(batch) = last {
            while self.write(Fate::Stored).await? {}
            let outcome = writer::submit(&self.house.app.store, batch)?;
            ensure!(outcome == Err(JournalError::Fenced), "what an ousted instance hands in is answered {outcome:?}");
        }
        Ok(())
    }

    /// The Village ends what an actor left that is not started again.
    pub fn end_without_actor(&mut self) {
        self.tell("the Village ends what was left running".to_owned());
        self.writer.push_back(Job { from: From::Village, work: Work::Claim(Leftover::Failed) });
    }

    /// The Conversation is gone: the instance ends, and everybody has been answered.
    pub fn leave(&mut self, number: usize) -> Checked {
        if let Some(actor) = self.actors.remove(&number) {
            ensure!(actor.asks.is_empty(), "actor {number} goes and leaves {:?} without an answer", actor.asks);
        }
        if self.seated == Some(number) {
            self.seated = None;
            self.sleep_log();
        }
        Ok(())
    }

    /// As `Seat::retire`: who has something to do, or somebody to answer, is left alone.
    pub fn retire(&mut self) -> Checked {
        let Some((number, actor)) = self.seated.and_then(|number| Some((number, self.actors.get(&number)?))) else {
            return Ok(());
        };
        if actor.state.standing().state != ActorState::Idle {
            return Ok(());
        }
        ensure!(actor.asks.is_empty(), "an actor sleeps while {:?} wait", actor.asks);
        self.tell(format!("actor {number} goes to sleep"));
        self.leave(number)
    }

    pub fn free(&mut self) {
        // Two looks of the Village.
        for _ in 0..2 {
            self.log.free();
        }
        if self.log.running_turn().is_none()
            && let (Some(shown), Some(head)) = (&mut self.shown, self.log.head())
        {
            *shown = Shown { floor: head, newest: None };
        }
    }

    /// The process is gone, and with it all that is not in the file. Whoever watched comes back by and by.
    pub async fn kill(&mut self) -> Checked {
        self.tell("the process is killed, and starts again".to_owned());
        self.begin_anew().await
    }

    async fn begin_anew(&mut self) -> Checked {
        for tab in &mut self.tabs {
            tab.connection = None;
        }
        self.actors.clear();
        self.seated = None;
        self.writer.clear();
        self.again.clear();
        self.debts = Debts::default();
        self.unended = false;
        self.shown = None;
        self.ledger.may_pause = true;
        self.house = self.house.reopened().await;
        self.log = must(self.house.app.engine.log(self.conversation).await, "a log")?;
        self.check_nothing_shown_was_lost().await
    }

    /// Running turns are ended with what they have, streams end, and the next process finds all of it.
    pub async fn restart(&mut self) -> Checked {
        self.tell("the process is stopped".to_owned());
        for actor in self.actors.values_mut() {
            actor.shutting_down = true;
            actor.cancel(Ending::ShutDown);
            actor.planning = None;
        }
        for _ in 0..40 {
            self.end(How::AsAsked).await?;
            self.write(Fate::Stored).await?;
            while self.hear_one(false).await? {}
            self.retry().await?;
        }
        let running = self.actors.values().filter_map(|actor| actor.state.running_turn()).count();
        ensure!(running == 0, "a turn does not end when the process is stopped");
        self.house.let_go().await;
        for tab in &mut self.tabs {
            tab.read_to_the_end().await?;
        }
        self.begin_anew().await
    }

    /// From the commit on it is found nowhere; streams end.
    pub async fn delete(&mut self) -> Checked {
        self.tell("Pia deletes the Conversation".to_owned());
        let path = format!("/api/conversations/{}", self.conversation);
        let answer = self.house.ask(Method::DELETE, &path, &[], None).await;
        ensure!(answer.status() == StatusCode::NO_CONTENT, "a deletion is answered {}", answer.status());
        self.deleted = true;
        let watcher = self.log.watch();
        for _ in 0..1_000 {
            if watcher.closing().is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
        ensure!(watcher.closing().is_some(), "the log of a deleted Conversation stays open");
        // What the store is still given it does not take, and whoever sits there is told.
        while self.write(Fate::Stored).await? {}
        if let Some(number) = self.seated {
            self.give(number, Event::Deleted).await?;
        }
        while self.hear_one(false).await? {}
        for tab in &mut self.tabs {
            tab.read_to_the_end().await?;
        }
        self.check_gone().await
    }
}
