//! All seats of a Village, and who sits where.

use std::{collections::HashMap, sync::Arc, time::Duration};

use ractor::{ActorCell, ActorRef};
use tokio::time::Instant;

use super::{Card, Census, Feed, INTENSITY, seat::Seat};
use crate::{
    conversation::{frame_log::Closing, mailbox::ConversationMsg},
    ports::journal::Leftover,
    vocabulary::ConversationId,
};

pub struct Seats {
    feed: Arc<Feed>,
    /// Boxed: a table keeps half of its places free.
    seats: HashMap<ConversationId, Box<Seat>>,
    by_actor: HashMap<ractor::ActorId, ConversationId>,
    /// Nobody is woken any more.
    pub stopping: bool,
    closed: bool,
}

impl Seats {
    pub fn new(feed: Arc<Feed>) -> Self {
        Self { feed, seats: HashMap::new(), by_actor: HashMap::new(), stopping: false, closed: false }
    }

    /// The Conversation's seat, made if there is none.
    pub fn seat(&mut self, conversation: ConversationId) -> &mut Seat {
        self.seats.entry(conversation).or_insert_with(|| {
            let seat = Box::new(Seat::new(&self.feed));
            if self.closed {
                seat.log.close(Closing::Stopping);
            }
            seat
        })
    }

    /// One that is there already.
    pub fn taken(&mut self, conversation: ConversationId) -> Option<&mut Seat> {
        self.seats.get_mut(&conversation).map(Box::as_mut)
    }

    /// The seat that this actor is about to take.
    pub fn seat_of(&mut self, actor: &ActorRef<ConversationMsg>, conversation: ConversationId) -> &mut Seat {
        self.by_actor.insert(actor.get_id(), conversation);
        self.seat(conversation)
    }

    /// Ends all readers, of seats that are made later too.
    pub fn close(&mut self) {
        self.closed = true;
        self.seats.values().for_each(|seat| seat.log.close(Closing::Stopping));
    }

    /// The actor is gone: its seat is free, its log sleeps unless a newer instance sits there already.
    pub fn vacate(&mut self, actor: &ActorCell) -> Option<ConversationId> {
        let conversation = self.by_actor.remove(&actor.get_id())?;
        let seat = self.seats.get_mut(&conversation)?;
        seat.leave(actor.get_id()).then_some(conversation)
    }

    pub fn delete(&mut self, conversation: ConversationId) {
        if let Some(seat) = self.seats.remove(&conversation) {
            self.feed.depart();
            seat.log.close(Closing::Deleted);
            seat.tell(ConversationMsg::Delete);
        }
    }

    pub fn tell(&self, conversation: ConversationId, message: ConversationMsg) {
        if let Some(seat) = self.seats.get(&conversation) {
            seat.tell(message);
        }
    }

    /// Whose end is still to be stored, and why it did not come by itself.
    pub fn unended(&self) -> Vec<(ConversationId, Leftover)> {
        let cause = |seat: &Seat| if seat.is_quarantined() { Leftover::Quarantined } else { Leftover::Failed };
        self.seats.iter().filter(|(_, seat)| seat.unended).map(|(id, seat)| (*id, cause(seat))).collect()
    }

    pub fn census(&self, of: &Census) -> Vec<Card> {
        let card = |id: &ConversationId, seat: &Seat| seat.card(*id, INTENSITY.window);
        match of {
            Census::All => self.seats.iter().map(|(id, seat)| card(id, seat)).collect(),
            Census::One(id) => self.seats.get(id).map(|seat| card(id, seat)).into_iter().collect(),
            Census::Since(since, and) => {
                let behind = |seat: &Seat| seat.mark.is_behind(*since);
                let changed = self.seats.iter().filter(|(_, seat)| behind(seat));
                let and = and.iter().filter_map(|id| self.seats.get_key_value(id)).filter(|(_, seat)| !behind(seat));
                changed.chain(and).map(|(id, seat)| card(id, seat)).collect()
            }
        }
    }

    pub fn tell_all(&self, message: impl Fn() -> ConversationMsg) {
        for seat in self.seats.values() {
            seat.tell(message());
        }
    }

    /// Frees ended turns' frames, lets idle actors sleep, forgets seats that nobody sits in or watches.
    pub fn sweep(&mut self, retire_after: Duration) {
        let now = Instant::now();
        self.seats.retain(|_, seat| {
            seat.log.free();
            if now.duration_since(seat.last_asked) > retire_after && seat.log.running_turn().is_none() {
                // One that is busy after all is looked at again in a moment.
                seat.retire();
            }
            let needed = seat.is_needed();
            if !needed {
                self.feed.depart();
            }
            needed
        });
    }
}
