//! Effects performed, as `ConversationActor::perform` does, and each held against what may be done at that moment.

use hamlet_actors::{
    conversation::{Answer, Effect, OnBusy, Published, Question, Ticket, effect::CancelReason},
    policy::outcome::Ending,
    ports::journal::{Batch, JournalError, Queued, Write},
    vocabulary::{Frame, Piece, TurnId},
};

use crate::{
    actor::{Ask, Task, Wish},
    broken::{Broken, Checked, ensure},
    rows,
    world::{Shown, World},
    writer::{From, Job, Work},
};

impl World {
    pub async fn perform(&mut self, number: usize, effects: Vec<Effect>) -> Checked {
        let mut gone = false;
        for effect in effects {
            let Some(actor) = self.actors.get_mut(&number) else { return Ok(()) };
            match effect {
                Effect::Claim(cause) => {
                    self.writer.push_back(Job { from: From::Actor(number), work: Work::Claim(cause) });
                }
                Effect::Submit { batch, owed } => self.submitted(number, batch, owed)?,
                Effect::Prepare { turn, before_position, question, progress: _ } => {
                    let (known, planned) =
                        (question.clone(), actor.task.as_ref().and_then(|task| task.planned.clone()));
                    let Some(question) = actor.plan_of(turn, question) else {
                        return Err(Broken(format!("turn {turn} was admitted without a plan")));
                    };
                    let mut task = Task::new(turn, question, before_position);
                    if matches!(known, Question::InHistory | Question::Passed) {
                        task.planned = planned;
                        self.ledger.check_answered(turn)?;
                    }
                    actor.task = Some(task);
                    if actor.shutting_down {
                        actor.cancel(Ending::ShutDown);
                    }
                }
                // While the process is being stopped nobody is looked for.
                Effect::Plan { .. } if actor.shutting_down => {}
                Effect::Plan { attempt, item } => {
                    let settled = actor.in_flight == 0;
                    actor.planning = Some((attempt, *item.clone()));
                    ensure!(!settled || self.is_next(&item).await?, "{item:?} is taken up, and is not the first");
                }
                Effect::Release(turn) => self.release(number, turn)?,
                Effect::Cancel(turn, reason) => {
                    let ending = match reason {
                        CancelReason::Abort => Ending::Aborted,
                        CancelReason::StoreUnavailable => Ending::StoreUnavailable,
                    };
                    if actor.task.as_ref().is_some_and(|task| task.turn == turn) {
                        actor.cancel(ending);
                        self.ledger.cancelled.insert(turn);
                        self.ledger.may_pause = true;
                    }
                }
                Effect::OpenLog { after, turn } => {
                    self.log.open(after, turn);
                    self.shown = Some(Shown { floor: after, newest: None });
                }
                Effect::Publish(published) => self.publish(published).await?,
                Effect::Tell { turn, message, error } => {
                    self.tell(format!("  whoever watches is told {:?}", error.code));
                    self.log.tell(&Frame::Error { turn_id: Some(turn), message_id: Some(message), error });
                    self.changes += 1;
                }
                // What the next request is told is not what this is about.
                Effect::Recall(_) | Effect::ForgetWindow | Effect::Reflect { .. } => {}
                Effect::RunCalls { turn, calls, progress: _ } => {
                    self.ledger.check_marked(turn, &calls)?;
                    let planned = actor.task.as_ref().and_then(|task| task.planned.clone());
                    actor.task = Some(Task { planned, ..Task::running(turn, calls) });
                    if actor.shutting_down {
                        actor.cancel(Ending::ShutDown);
                    }
                }
                Effect::Decide { .. } => return Err(Broken("nobody said yes or no".to_owned())),
                Effect::Taken(turn) => {
                    if let Some(task) = actor.task.as_mut().filter(|task| task.turn == turn) {
                        task.gate_open = true;
                    }
                }
                Effect::Answer(ticket, answer) => self.answered(number, ticket, answer).await?,
                Effect::Wake { last_seq } => self.wake_log(last_seq),
                Effect::RetryLater => actor.retries += 1,
                Effect::LookLater(after) => {
                    actor.looks.push(self.now + i64::try_from(after.as_millis()).unwrap_or(i64::MAX));
                }
                Effect::Quit(JournalError::Gone) => gone = true,
                Effect::Quit(error) => {
                    self.tell(format!("  actor {number} fails: {error}"));
                    return Box::pin(self.fail(number, true)).await;
                }
            }
        }
        if gone {
            return self.leave(number);
        }
        if let Some(actor) = self.actors.get_mut(&number)
            && actor.state.running_turn().is_none()
        {
            actor.task = None;
        }
        Ok(())
    }

    fn submitted(&mut self, number: usize, batch: Batch, owed: Vec<(Ticket, Answer)>) -> Checked {
        let Some(actor) = self.actors.get_mut(&number) else { return Ok(()) };
        ensure!(actor.in_flight == 0, "two batches are in flight: {batch:?}");
        actor.in_flight += 1;
        self.ledger.check_submitted(&batch)?;
        // What the store did not take is tried again as it was: who stops the turn meanwhile comes as late as when it was
        // stored at once.
        let again = actor.submitted.as_ref() == Some(&batch);
        actor.submitted = Some(batch.clone());
        if goes_on(&batch) && !again {
            ensure!(!actor.asks.values().any(stops), "a turn goes on while {:?} wait", actor.asks);
        }
        self.writer.push_back(Job { from: From::Actor(number), work: Work::Batch(batch, owed) });
        Ok(())
    }

    /// Whether this is what readers are told will be taken up next.
    async fn is_next(&self, item: &Queued) -> Checked<bool> {
        let waiting = self.waiting().await?;
        Ok(waiting.first().is_some_and(|first| first.message == item.message && first.text == item.text))
    }

    /// The request goes out: it must be about what the turn answers, and be told what was said before that.
    fn release(&mut self, number: usize, turn: TurnId) -> Checked {
        let Some(task) = self.actors.get_mut(&number).and_then(|actor| actor.task.as_mut()) else { return Ok(()) };
        if task.turn != turn {
            return Ok(());
        }
        task.released = true;
        if task.question.is_none() {
            return Ok(());
        }
        let Some(asked) = self.ledger.questions.get(&turn) else { return Ok(()) };
        ensure!(
            task.question.as_deref() == Some(asked.text.as_str()),
            "the model is asked {:?} where {:?} was said",
            task.question,
            asked.text
        );
        ensure!(
            asked.branches || task.before_position == asked.position,
            "the model is told what lies before {} of a question at {}",
            task.before_position,
            asked.position
        );
        Ok(())
    }

    /// Promise 2: whatever is shown would be found again if the process were killed now. And its numbers only grow.
    async fn publish(&mut self, published: Published) -> Checked {
        let seqs: Vec<(u64, bool)> = match &published {
            Published::Frames(frames) => frames.iter().map(|(seq, _)| (*seq, true)).collect(),
            Published::Pieces { pieces, .. } => {
                pieces.iter().map(|(seq, piece)| (*seq, matches!(piece, Piece::Part { .. }))).collect()
            }
        };
        let id = self.conversation;
        let durable = self.house.read(move |conn| rows::durable_seq(conn, id)).await?;
        for (seq, shown) in seqs {
            ensure!(seq <= durable, "{published:?} is shown, and stored is what lies up to {durable}");
            let Some(log) = &mut self.shown else { continue };
            ensure!(seq > log.newest.unwrap_or(log.floor), "{published:?} is shown behind {log:?}");
            if shown {
                log.newest = Some(seq);
            }
        }
        self.changes += 1;
        match &published {
            Published::Frames(frames) => self.log.publish_frames(frames),
            Published::Pieces { message, pieces } => self.log.publish_pieces(*message, pieces),
        }
        Ok(())
    }
}

/// A step ends, and what steers the turn is said.
fn goes_on(batch: &Batch) -> bool {
    batch.writes.iter().any(|write| matches!(write, Write::Finish(row) if !row.terminal))
}

/// Stop and an interrupt come before what steers.
fn stops(ask: &Ask) -> bool {
    match &ask.wish {
        Wish::Begin { begin, .. } => begin.on_busy == OnBusy::Interrupt,
        Wish::Abort { running, .. } => running.is_some(),
        Wish::Change(_) | Wish::Resume | Wish::Select(_) => false,
    }
}
