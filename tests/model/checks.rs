//! What must be true in the end, once everything has settled, and at moments in between.

use hamlet_actors::vocabulary::{Entry, MessageStatus, Role, Transcript, TurnId};
use http::{Method, StatusCode};
use serde_json::Value;

use crate::{
    broken::{Broken, Checked, ensure, must},
    happening::{Fate, How, Speech},
    ledger::Words,
    rows::Row,
    world::World,
};

impl World {
    /// Lets everything come to rest: the store takes everything, whoever is looked for is found, turns end.
    async fn settle(&mut self) -> Checked {
        self.tell("everything settles".to_owned());
        for _ in 0..500 {
            let mut moved = !self.again.is_empty();
            while let Some(ask) = self.again.pop_front() {
                self.ask(ask).await?;
            }
            while self.write(Fate::Stored).await? {
                moved = true;
            }
            while self.hear_one(false).await? {
                moved = true;
            }
            moved |= self.retry().await?;
            if self.actors.values().any(|actor| actor.planning.is_some()) {
                self.plan(true).await?;
                moved = true;
            }
            self.check_gates()?;
            let runs = |world: &Self| {
                world.actors.values().any(|actor| {
                    actor.task.as_ref().is_some_and(|task| !task.over && (task.released || task.cancelled.is_some()))
                })
            };
            while runs(self) {
                self.speak(Speech::Text).await?;
                self.end(How::AsAsked).await?;
                moved = true;
            }
            self.quick_tab_reads().await?;
            if !moved {
                return Ok(());
            }
        }
        ensure!(false, "it never comes to rest");
        Ok(())
    }

    /// A turn whose report is stored may report more.
    fn check_gates(&self) -> Checked {
        for (number, actor) in &self.actors {
            let waits = actor.task.as_ref().is_some_and(|task| !task.over && !task.gate_open);
            let stored = actor.in_flight == 0 && actor.retries == 0;
            ensure!(!(waits && stored), "the turn of actor {number} waits for what is stored");
        }
        Ok(())
    }

    pub async fn check_in_the_end(&mut self) -> Checked {
        if self.deleted {
            return Ok(());
        }
        self.settle().await?;
        self.check_at_rest().await?;
        self.check_tabs().await?;
        self.check_that_it_goes_on().await?;
        self.check_at_rest().await?;
        self.check_store().await?;
        self.check_tabs().await
    }

    /// Nobody waits, nothing runs, and what waits has a reason to.
    async fn check_at_rest(&mut self) -> Checked {
        for (number, actor) in &self.actors {
            ensure!(actor.asks.is_empty(), "actor {number} never answers {:?}", actor.asks);
            ensure!(actor.state.is_idle(), "actor {number} is busy for ever: {:?}", actor.state);
            ensure!(Some(*number) == self.seated, "actor {number} left its seat and never ends");
        }
        let waiting = self.waiting().await?;
        ensure!(waiting.is_empty() || self.ledger.may_pause, "{waiting:?} wait for no reason");
        Ok(())
    }

    /// The next send begins and comes to its end, and so does all that waits.
    async fn check_that_it_goes_on(&mut self) -> Checked {
        let before = self.rows().await?.len();
        self.say(hamlet_actors::conversation::OnBusy::Reject, None).await?;
        self.settle().await?;
        ensure!(self.rows().await?.len() > before, "a send at rest is not taken");
        for _ in 0..40 {
            let waiting = self.waiting().await?;
            let Some(first) = waiting.first() else { return Ok(()) };
            self.resume().await?;
            self.settle().await?;
            let still = self.waiting().await?;
            ensure!(!still.iter().any(|item| item.message == first.message), "{first:?} is not taken up");
        }
        ensure!(false, "the queue never empties");
        Ok(())
    }

    async fn check_store(&mut self) -> Checked {
        let rows = self.rows().await?;
        let visible: Vec<&Row> = rows.iter().filter(|row| row.is_visible()).collect();
        for pair in visible.windows(2) {
            ensure!(pair[0].position < pair[1].position, "two Messages in one place: {pair:?}");
        }
        for row in &rows {
            ensure!(row.status != MessageStatus::Running, "{row:?} runs for ever");
            if row.role == Role::Npc {
                self.ledger.check_reply(row.id, &row.parts)?;
                let ends = rows.iter().filter(|other| other.turn == row.turn && other.terminal).count();
                ensure!(ends == 1, "turn {} has {ends} ends", row.turn);
            }
        }
        // Under one key one text is said, whatever became of it.
        for key in 0..4u8 {
            let text = format!("Under key {key}.");
            let said = rows.iter().filter(|row| row.client_id.as_deref() == Some(text.as_str())).count();
            ensure!(said <= 1, "{text:?} is there {said} times");
        }
        let (last_seq, all) = (rows.iter().map(|row| row.last_seq).max(), self.tabs[0].held.cursor);
        ensure!(last_seq.is_none_or(|last_seq| last_seq <= all), "{last_seq:?} is the newest, and shown was {all}");
        Ok(())
    }

    /// Every tab, whatever it went through, has what a new one gets, and that is what is stored.
    async fn check_tabs(&mut self) -> Checked {
        let (stored, _) = self.transcript().await?;
        let waiting = self.waiting().await?;
        for tab in 0..self.tabs.len() {
            if let Some((reply, key)) = self.tabs[tab].until {
                // What waits for its turn, waits with it.
                if !waiting.iter().any(|item| item.reply == reply) {
                    self.check_joined(tab, key).await?;
                }
                continue;
            }
            if self.tabs[tab].connection.is_none() {
                self.tab_comes_back(tab).await?;
            }
            self.read_all(tab).await?;
            self.compare(tab, stored.entries()).await?;
        }
        for tab in self.tabs.iter().filter(|tab| tab.until.is_none()) {
            for entry in tab.held.transcript.entries().iter().filter(|entry| entry.role == Role::Npc) {
                let told = tab.seen.get(&entry.turn_id).is_none_or(|ends| *ends > 0);
                ensure!(told || self.has_left(entry.turn_id).await?, "{} is not told of {entry:?}", tab.name);
            }
        }
        let last = self.tabs.len() - 1;
        self.open_anew(last, Some(0), false).await?;
        self.read_all(last).await?;
        self.compare(last, stored.entries()).await
    }

    /// The stream of one turn comes to its end.
    async fn check_joined(&mut self, tab: usize, key: u8) -> Checked {
        if self.tabs[tab].connection.is_none() {
            self.join(tab, key, true).await?;
        }
        self.tabs[tab].read_to_the_end().await?;
        self.check_over(tab).await
    }

    /// The tab's stream has ended by itself: because the turn that it watches has, and it was told so.
    pub async fn check_over(&self, tab: usize) -> Checked {
        let tab = &self.tabs[tab];
        let Some((reply, _)) = tab.until else {
            return Err(Broken(format!("the stream of {} ends", tab.name)));
        };
        let waits = self.waiting().await?.iter().any(|item| item.reply == reply);
        ensure!(!waits, "the stream of {} ends before {reply} has begun", tab.name);
        // A text that was withdrawn has no reply.
        let Some(turn) = self.rows().await?.iter().find(|row| row.id == reply).map(|row| row.turn) else {
            return Ok(());
        };
        let told = tab.seen.get(&turn).is_some_and(|ends| *ends > 0);
        ensure!(told || self.has_left(turn).await?, "the stream of {} ends before its turn {turn}", tab.name);
        Ok(())
    }

    /// The end of a turn whose last reply left may have left with it.
    async fn has_left(&self, turn: TurnId) -> Checked<bool> {
        let rows = self.rows().await?;
        Ok(rows.iter().any(|row| row.turn == turn && row.status == MessageStatus::Superseded))
    }

    async fn tab_comes_back(&mut self, tab: usize) -> Checked {
        use crate::happening::TabDoes;
        let newest = u8::try_from(self.tabs[tab].past.len()).unwrap_or_default();
        if tab == 0 {
            self.quick_tab_reads().await
        } else {
            self.tab_does(tab, TabDoes::Return { with: newest, among: false }).await
        }
    }

    async fn compare(&self, tab: usize, stored: &[Entry]) -> Checked {
        let tab = &self.tabs[tab];
        let since = tab.held.since;
        let rows = self.rows().await?;
        let changed = |entry: &&Entry| since == 0 || rows.iter().any(|row| row.id == entry.id && row.last_seq > since);
        let wanted: Vec<&Entry> = stored.iter().filter(changed).collect();
        let has: Vec<&Entry> = tab.held.transcript.entries().iter().collect();
        ensure!(has == wanted, "{} has\n{}\nand stored is\n{}", tab.name, lines(&has), lines(&wanted));
        Ok(())
    }

    /// Whoever opens the Conversation now has what somebody has who was there all the time. While something is stored that
    /// nobody has heard of yet, the one may be a step ahead of the other.
    pub fn check_reload(&self, opened: &Transcript) -> Checked {
        let quiet = self.writer.is_empty() && self.actors.values().all(|actor| actor.mailbox.is_empty());
        let there = &self.tabs[0].held.transcript;
        ensure!(
            !quiet || self.shown.is_none() || opened.entries() == there.entries(),
            "who opens it now has\n{}\nand who was there\n{}",
            lines(&opened.entries().iter().collect::<Vec<_>>()),
            lines(&there.entries().iter().collect::<Vec<_>>())
        );
        Ok(())
    }

    /// What a page is told of the turn and the queue beside the transcript.
    pub async fn check_standing(&self, page: &Value) -> Checked {
        let (waiting, turn) = (self.waiting().await?, &page["turn"]);
        // What began meanwhile, or was left running by an actor that failed, may not be on the page yet: it runs all the same.
        let begun = self.rows().await?.iter().any(|row| row.status == MessageStatus::Running);
        let running =
            begun || page["items"].as_array().is_some_and(|items| items.iter().any(|item| item["status"] == "running"));
        ensure!(turn.is_null() == (!running && waiting.is_empty()), "{turn} with {waiting:?}");
        if turn.is_null() {
            return Ok(());
        }
        ensure!(turn["id"].is_null() != running && turn["queue"]["paused"] == !running, "{turn}, running: {running}");
        let told: Vec<&Value> = turn["queue"]["items"].as_array().into_iter().flatten().collect();
        let same = told.iter().zip(&waiting).all(|(told, item)| told["messageId"] == item.message.to_string());
        ensure!(same && told.len() == waiting.len(), "{turn} with {waiting:?}");
        Ok(())
    }

    /// No tab has a piece that is lost, doubled or in another place.
    pub fn check_seen(&self, tab: usize) -> Checked {
        let tab = &self.tabs[tab];
        for entry in tab.held.transcript.entries() {
            if entry.role == Role::Npc {
                self.ledger.check_seen(tab.name, entry.id, &entry.parts)?;
            }
        }
        Ok(())
    }

    /// Promise 2, after the process was killed: all that any tab had is stored, or left the transcript in order.
    pub async fn check_nothing_shown_was_lost(&self) -> Checked {
        let rows = self.rows().await?;
        for tab in &self.tabs {
            for entry in tab.held.transcript.entries() {
                let Some(row) = rows.iter().find(|row| row.id == entry.id) else {
                    ensure!(false, "{} had {entry:?}, which is lost", tab.name);
                    continue;
                };
                let kept = Words::of(&entry.parts).begins(&Words::of(&row.parts));
                ensure!(kept || row.role == Role::Player, "{} had {entry:?}, and kept is {row:?}", tab.name);
                let ended = !matches!(entry.status, MessageStatus::Running | MessageStatus::Queued);
                let as_told = entry.status == row.status || !row.is_visible() || !ended;
                ensure!(as_told, "{} was told {:?} of {row:?}", tab.name, entry.status);
            }
        }
        Ok(())
    }

    /// Promise 17: what was deleted is found nowhere, and no stream goes on.
    pub async fn check_gone(&self) -> Checked {
        for path in ["frames?after=0", "messages"] {
            let path = format!("/api/conversations/{}/{path}", self.conversation);
            let answer = self.house.ask(Method::GET, &path, &[], None).await;
            ensure!(answer.status() == StatusCode::NOT_FOUND, "{path} answers {}", answer.status());
        }
        for tab in &self.tabs {
            ensure!(tab.connection.is_none(), "{} watches what is deleted", tab.name);
        }
        ensure!(must(self.house.app.engine.log(self.conversation).await, "a log").is_ok(), "no log");
        let seated = self.seated.and_then(|number| self.actors.get(&number));
        ensure!(seated.is_none(), "the actor of what is deleted lives on");
        Ok(())
    }
}

fn lines(entries: &[&Entry]) -> String {
    let line = |entry: &&Entry| format!("  {entry:?}");
    entries.iter().map(line).collect::<Vec<_>>().join("\n")
}
