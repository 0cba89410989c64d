//! What those who asked are answered: each once, and nothing that is not so.

use hamlet_actors::{
    conversation::{AbortRefusal, Aborted, Answer, BeginRefusal, Begun, ChangeRefusal, Intent, QueueChange, Ticket},
    vocabulary::{MessageStatus, TurnId},
};

use crate::{
    actor::{Ask, Wish},
    broken::{Broken, Checked, ensure},
    world::World,
};

impl World {
    pub async fn answered(&mut self, number: usize, ticket: Ticket, answer: Answer) -> Checked {
        let Some(actor) = self.actors.get_mut(&number) else { return Ok(()) };
        self.debts.paid(ticket);
        let Some(Ask { wish, .. }) = actor.asks.remove(&ticket) else {
            return Err(Broken(format!("{answer:?} is an answer for nobody, or the second one for {ticket:?}")));
        };
        self.tell(format!("  answered: {answer:?}"));
        match (wish, answer) {
            (Wish::Begin { begin, .. }, Answer::Begun(outcome)) => {
                if let Some(actor) = self.actors.get_mut(&number) {
                    actor.plans.remove(&begin.turn);
                }
                match outcome {
                    Ok(begun) => {
                        self.check_begun(&begin.intent, begin.idempotency.as_ref().map(|key| key.key.clone()), begun)
                            .await
                    }
                    // Two of the same at once: the other one's turn is this one's.
                    Err(_) => match &begin.idempotency {
                        Some(key) => self.joins_earlier(key).await.map(drop),
                        None => Ok(()),
                    },
                }
            }
            (Wish::Resume, Answer::Begun(Ok(begun))) => self.check_resumed(begun).await,
            (Wish::Resume, Answer::Begun(Err(refusal))) => {
                let fits = matches!(
                    refusal,
                    BeginRefusal::Store(_) | BeginRefusal::Unplanned(_) | BeginRefusal::NothingWaits { .. }
                );
                ensure!(fits, "who asked the queue to go on is told {refusal:?}");
                Ok(())
            }
            (Wish::Abort { turn, running }, Answer::Aborted(outcome)) => {
                self.check_aborted(turn, running, outcome).await
            }
            (Wish::Change(change), Answer::Changed(outcome)) => self.check_changed(&change, outcome).await,
            (Wish::Select(select), Answer::Changed(Ok(()))) => {
                let rows = self.rows().await?;
                for (id, _) in &select.back {
                    let back = rows.iter().any(|row| row.id == *id && row.is_visible());
                    ensure!(back, "{id} is not back");
                }
                Ok(())
            }
            (Wish::Select(_), Answer::Changed(Err(_))) => Ok(()),
            (wish, answer) => Err(Broken(format!("{answer:?} is no answer to {wish:?}"))),
        }
    }

    /// Promise 1 and 3: who is told that a turn begins finds it in the store, behind the cursor.
    async fn check_begun(&mut self, intent: &Intent, key: Option<String>, begun: Begun) -> Checked {
        if let Some(key) = key {
            let first = *self.ledger.keys.entry(key.clone()).or_insert(begun.message);
            ensure!(first == begun.message, "{key} was {first:?}, and now {begun:?}");
        } else if let Intent::Send { message, .. } | Intent::Edit { message, .. } = intent {
            let rows = self.rows().await?;
            let stored = rows.iter().find(|row| row.id == *message);
            ensure!(stored.is_some_and(|row| row.last_seq > begun.cursor), "{begun:?}, but {stored:?}");
        }
        self.check_reply_known(begun).await
    }

    async fn check_resumed(&mut self, begun: Begun) -> Checked {
        let rows = self.rows().await?;
        ensure!(rows.iter().any(|row| row.id == begun.message), "{begun:?} is not stored");
        Ok(())
    }

    /// The reply is there, or will be when the text is taken up.
    async fn check_reply_known(&mut self, begun: Begun) -> Checked {
        let (rows, waiting) = (self.rows().await?, self.waiting().await?);
        let known =
            rows.iter().any(|row| row.id == begun.message) || waiting.iter().any(|item| item.reply == begun.message);
        ensure!(known, "{begun:?} is not stored");
        Ok(())
    }

    async fn check_aborted(
        &mut self,
        asked: Option<TurnId>,
        running: Option<TurnId>,
        outcome: Result<Aborted, AbortRefusal>,
    ) -> Checked {
        match outcome {
            Ok(Aborted { aborted: true, turn: Some(turn) }) => {
                let rows = self.rows().await?;
                let end = rows.iter().find(|row| row.turn == turn && row.terminal).map(|row| row.status);
                let stopped = matches!(end, Some(MessageStatus::Aborted | MessageStatus::Withdrawn));
                ensure!(stopped, "turn {turn} is said to be stopped, and is stored as {end:?}");
            }
            Ok(Aborted { aborted: true, turn: None }) => {
                ensure!(asked.is_none(), "turn {asked:?} is said to be stopped, by no name");
                self.ledger.may_pause = true;
            }
            Ok(Aborted { aborted: false, .. }) => {
                if let Some(running) = running {
                    ensure!(self.ledger.cancelled.contains(&running), "turn {running} ran, and Stop did not reach it");
                }
            }
            Err(AbortRefusal::Mismatch { running: other }) => {
                ensure!(asked.is_some() && asked != Some(other), "{other} runs, and {asked:?} was asked for");
            }
            Err(AbortRefusal::Store(_)) => {}
        }
        Ok(())
    }

    async fn check_changed(&mut self, change: &QueueChange, outcome: Result<(), ChangeRefusal>) -> Checked {
        if outcome.is_err() {
            return Ok(());
        }
        let rows = self.rows().await?;
        let (message, fits): (_, &dyn Fn(&crate::rows::Row) -> bool) = match change {
            QueueChange::Edit { message, text, .. } => (message, &|row| row.text == **text),
            QueueChange::Withdraw { message } => (message, &|row| row.status == MessageStatus::Withdrawn),
        };
        let row = rows.iter().find(|row| row.id == *message);
        ensure!(row.is_some_and(fits), "{change:?} is said to be stored, and stored is {row:?}");
        Ok(())
    }
}
