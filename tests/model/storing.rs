//! The store takes jobs in the order of their coming, and the actor hears of it later.

use hamlet_actors::{conversation::Event, ports::journal::JournalError};

use crate::{
    actor::Report,
    broken::Checked,
    happening::Fate,
    world::World,
    writer::{self, From, Job, Work},
};

impl World {
    /// The store takes the next job. False: there is none.
    pub async fn write(&mut self, fate: Fate) -> Checked<bool> {
        let Some(Job { from, work }) = self.writer.pop_front() else { return Ok(false) };
        let store = self.house.app.store.clone();
        let (what, report) = match work {
            Work::Batch(batch, owed) => {
                let outcome = match fate.trouble() {
                    Some(error) => Err(error),
                    None => writer::submit(&store, batch.clone())?,
                };
                let taken = outcome.is_ok();
                if taken {
                    self.debts.owe(owed);
                    self.ledger.committed(&batch)?;
                }
                // A turn that could not be stored is a failure like any other, and so is an end that nobody hears of.
                let unheard = matches!(from, From::Actor(number) if !self.actors.contains_key(&number));
                self.ledger.may_pause |= unheard || (!taken && batch.writes.iter().any(is_admission));
                (format!("up to {}", batch.last_seq), Report::Settled(outcome))
            }
            Work::Claim(cause) => {
                let outcome = match fate.trouble() {
                    // A claim is never refused.
                    Some(_) => Err(JournalError::Unavailable("as the test asked".to_owned())),
                    None => writer::claim(&store, self.conversation, cause)?,
                };
                ("a claim".to_owned(), Report::Claimed(outcome))
            }
        };
        self.tell(format!("  the store of {what} for {from:?}: {}", words(&report)));
        match (from, report) {
            (From::Actor(number), report) => {
                if let Some(actor) = self.actors.get_mut(&number) {
                    actor.mailbox.push_back(report);
                }
            }
            (From::Village, Report::Claimed(Ok(claimed))) => {
                self.unended = false;
                if self.seated.is_none() {
                    self.wake_log(claimed.last_seq);
                }
            }
            (From::Village, _) => {}
        }
        Ok(true)
    }

    /// One who has not heard yet does. False: all have.
    pub async fn hear_one(&mut self, newest: bool) -> Checked<bool> {
        let mut waiting = self.actors.iter_mut().filter(|(_, actor)| !actor.mailbox.is_empty());
        let next = if newest { waiting.next_back() } else { waiting.next() };
        let Some((number, report)) = next.and_then(|(number, actor)| Some((*number, actor.mailbox.pop_front()?)))
        else {
            return Ok(false);
        };
        self.tell(format!("  actor {number} hears: {}", words(&report)));
        let event = match report {
            Report::Settled(outcome) => {
                if let Some(actor) = self.actors.get_mut(&number) {
                    actor.in_flight -= 1;
                }
                Event::Settled { outcome, now: self.at() }
            }
            Report::Claimed(outcome) => {
                // What waited waits on, until somebody says that it may go on.
                self.ledger.may_pause |= outcome.is_ok();
                self.give(number, Event::Owed(self.debts.left())).await?;
                Event::Claimed(outcome)
            }
        };
        self.give(number, event).await?;
        Ok(true)
    }

    pub async fn store_and_hear(&mut self) -> Checked {
        self.write(Fate::Stored).await?;
        while self.hear_one(false).await? {}
        Ok(())
    }

    /// The store takes nothing for so long.
    pub async fn outage(&mut self, seconds: u8) -> Checked {
        self.tell(format!("the store cannot commit for {seconds} s"));
        for _ in 0..4 {
            while self.write(Fate::Unavailable).await? {}
            while self.hear_one(false).await? {}
            self.now += i64::from(seconds) * 1_000 / 3;
            self.look().await?;
            self.retry().await?;
        }
        Ok(())
    }

    /// Whoever wanted to look by now does.
    pub async fn look(&mut self) -> Checked {
        let now = self.now;
        for number in self.actors.keys().copied().collect::<Vec<_>>() {
            let Some(actor) = self.actors.get_mut(&number) else { continue };
            let (due, later) = actor.looks.drain(..).partition(|at| *at <= now);
            actor.looks = later;
            let due: Vec<i64> = due;
            for _ in due {
                self.give(number, Event::LookDue { now: self.at() }).await?;
            }
        }
        Ok(())
    }

    /// What the store could not take is tried again. False: nobody waits for that.
    pub async fn retry(&mut self) -> Checked<bool> {
        if self.unended && self.seated.is_none() && self.writer.is_empty() {
            self.end_without_actor();
            return Ok(true);
        }
        let Some((number, actor)) = self.actors.iter_mut().find(|(_, actor)| actor.retries > 0) else {
            return Ok(false);
        };
        let number = *number;
        actor.retries -= 1;
        self.tell(format!("actor {number} tries again"));
        self.give(number, Event::RetryDue).await?;
        Ok(true)
    }
}

fn is_admission(write: &hamlet_actors::ports::journal::Write) -> bool {
    use hamlet_actors::{ports::journal::Write, vocabulary::Role};
    matches!(write, Write::Insert(row) if row.role == Role::Npc)
}

fn words(report: &Report) -> String {
    match report {
        Report::Settled(Ok(())) => "stored".to_owned(),
        Report::Settled(Err(error)) | Report::Claimed(Err(error)) => error.to_string(),
        Report::Claimed(Ok(claimed)) => format!("epoch {} behind {}", claimed.epoch, claimed.last_seq),
    }
}
