//! What goes to the Journal next. One batch is in flight a Conversation; each of these makes one.

use std::sync::Arc;

use crate::{
    ports::journal::{Queued, Write},
    vocabulary::{Piece, Timestamp},
};

use super::{
    super::{
        admission::admit,
        effect::{BeginRefusal, Effect, Published, Question},
        event::{Begin, Cast, Intent, OnBusy, Select, Ticket},
        frames,
        queue::{Asked, Change, Desk, stage},
        turn_state::{InFlight, Next, Then, Turn},
    },
    Conversation,
    asking::{begun, is_stale},
    stepping::After,
};

impl Conversation {
    /// Sends on what is pending, unless a batch is in flight: what asked to begin, once nothing runs; changes of the queue;
    /// what runs; what is being taken up.
    pub(super) fn flush(&mut self, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        while self.in_flight.is_none() {
            // Before what was to wait for it is stored: if it is refused, that need not wait.
            if self.turn.is_none() && self.next.is_some() {
                effects.extend(self.begin_next(now));
                continue;
            }
            self.no_need_to_wait();
            if let Some(asked) = self.changes.pop_front() {
                effects.extend(self.stage_change(asked, now));
                continue;
            }
            let flight = match self.turn.as_mut().map(|turn| (turn.ending.clone(), turn.pending.is_empty())) {
                Some((Some(ending), _)) => match self.after_task(ending, now) {
                    After::Stored(flight) => flight,
                    After::GoesOn(next) => {
                        effects.extend(next);
                        continue;
                    }
                },
                Some((None, false)) => self.append_flight(now),
                Some((None, true)) => None,
                None => match self.begin_next(now) {
                    begun if begun.is_empty() => None,
                    begun => {
                        effects.extend(begun);
                        continue;
                    }
                },
            };
            let Some(flight) = flight else { break };
            effects.push(self.send(flight));
        }
        effects.extend(self.look_later(now));
        effects
    }

    /// What was to wait for a turn that has ended meanwhile begins.
    fn no_need_to_wait(&mut self) {
        if self.busy_with().is_some() {
            return;
        }
        let waits = |asked: &Asked| matches!(asked.change, Change::Enqueue { .. });
        let Some(asked) = self.changes.iter().position(waits).and_then(|at| self.changes.remove(at)) else { return };
        if let Change::Enqueue { begin, .. } = asked.change {
            self.next = Some(Box::new(Next { begin, waiters: asked.ticket.into_iter().collect() }));
        }
    }

    pub(super) fn send(&mut self, flight: InFlight) -> Effect {
        let submit = self.submit(&flight);
        self.in_flight = Some(Box::new(flight));
        submit
    }

    /// A change that changes nothing is refused at once.
    fn stage_change(&mut self, asked: Asked, now: Timestamp) -> Option<Effect> {
        let desk = Desk {
            conversation: self.id,
            cursor: self.last_seq,
            title: self.title.as_deref(),
            queue: &self.queue,
            running: self.running_turn(),
        };
        let mut staged = match (stage(desk, &asked), asked.ticket) {
            (Ok(staged), _) => staged,
            (Err(refusal), Some(ticket)) => return Some(Effect::Answer(ticket, refusal)),
            (Err(_), None) => return None,
        };
        let flight = InFlight {
            batch: self.batch(staged.last_seq, std::mem::take(&mut staged.writes)),
            since: now,
            publish: vec![Published::Frames(std::mem::take(&mut staged.frames))],
            then: Then::Changed { staged: Box::new(staged), asked: Box::new(asked) },
        };
        Some(self.send(flight))
    }

    /// Nothing runs: what asked for it begins, else what is being taken up.
    fn begin_next(&mut self, now: Timestamp) -> Vec<Effect> {
        if let Some(next) = self.next.take() {
            let Next { begin, waiters } = *next;
            if is_stale(&begin.intent, self.last_seq) {
                return waiters.into_iter().flat_map(|ticket| begun(ticket, BeginRefusal::Stale)).collect();
            }
            return self.admit(*begin, waiters, now);
        }
        let Some(taking_up) = self.taking_up.take_if(|taking_up| taking_up.cast.is_some()) else { return Vec::new() };
        match taking_up.cast {
            Some((cast, at)) => self.admit(taken_up(taking_up.item, cast, at), taking_up.waiters, now),
            None => Vec::new(),
        }
    }

    fn admit(&mut self, begin: Begin, waiters: Vec<Ticket>, now: Timestamp) -> Vec<Effect> {
        let turn = begin.turn;
        let admitted = admit(self.place(), begin, waiters);
        let (before_position, progress) = (admitted.turn.before_position, admitted.turn.progress());
        self.turn = Some(Box::new(admitted.turn));
        let submit = self.send(InFlight {
            batch: self.batch(admitted.last_seq, admitted.writes),
            since: now,
            publish: vec![Published::Frames(admitted.frames)],
            then: Then::Admitted { player: admitted.player, title: admitted.title },
        });
        vec![Effect::Prepare { turn, before_position, question: Question::Planned, progress }, submit]
    }

    fn append_flight(&mut self, now: Timestamp) -> Option<InFlight> {
        let mut seq = self.last_seq;
        let turn = self.turn.as_mut()?;
        let (mut writes, publish) = pending_writes(turn, &mut seq);
        if std::mem::take(&mut turn.fold_due) {
            turn.folded_at = now;
            writes.push(Write::Fold { message: turn.message, body: Arc::new(turn.body.clone()), through: seq });
        }
        let taken = std::mem::take(&mut turn.reporting);
        let decided = std::mem::take(&mut turn.decided);
        Some(InFlight { batch: self.batch(seq, writes), since: now, publish, then: Then::Appended { taken, decided } })
    }

    /// What stands in a variant's place leaves, and what left with the variant comes back: one transaction.
    pub(super) fn select(&mut self, select: Select, ticket: Ticket, now: Timestamp) -> Vec<Effect> {
        let mut seq = self.last_seq;
        let mut shown = Vec::new();
        let mut left = Vec::with_capacity(select.leaving.len());
        for (id, frame) in select.leaving {
            let seq = frames::next(&mut seq);
            left.push((id, seq));
            shown.push((seq, frame));
        }
        let mut back = Vec::with_capacity(select.back.len());
        for (id, frames) in select.back {
            for frame in frames {
                shown.push((frames::next(&mut seq), frame));
            }
            back.push((id, seq));
        }
        let writes =
            vec![Write::Supersede { left }, Write::Restore { back }, Write::Touch { updated_at: now, title: None }];
        let flight = InFlight {
            batch: self.batch(seq, writes),
            since: now,
            publish: vec![Published::Frames(shown)],
            then: Then::Selected { ticket },
        };
        vec![self.send(flight)]
    }
}

fn taken_up(item: Queued, cast: Cast, now: Timestamp) -> Begin {
    Begin {
        turn: item.turn,
        reply: item.reply,
        speaker: cast.speaker,
        provider_name: cast.provider_name,
        model: cast.model,
        hop: cast.hop,
        step_limit: cast.step_limit,
        intent: Intent::TakeUp(Box::new(item)),
        on_busy: OnBusy::Reject,
        // Remembered when it was enqueued.
        idempotency: None,
        now,
    }
}

/// Places what is pending, numbers it, and lets what it supersedes leave with the first Part.
pub(super) fn pending_writes(turn: &mut Turn, seq: &mut u64) -> (Vec<Write>, Vec<Published>) {
    let placed = turn.place_pending();
    if placed.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let mut writes = Vec::with_capacity(2);
    let leaving = std::mem::take(&mut turn.supersedes);
    if !leaving.is_empty() {
        let left = leaving.into_iter().map(|id| (id, frames::next(seq))).collect();
        writes.push(Write::Supersede { left });
    }
    let pieces: Arc<[(u64, Piece)]> = placed.into_iter().map(|piece| (frames::next(seq), piece)).collect();
    writes.push(Write::Pieces { message: turn.message, pieces: Arc::clone(&pieces) });
    (writes, vec![Published::Pieces { message: turn.message, pieces }])
}
