//! One reader of one Conversation: a cursor that moves through the store and then along the log. It knows no transport; what
//! is done with a step, and how fast, is the caller's affair (promise 9).

use std::sync::Arc;

use hamlet_actors::{
    conversation::frame_log::{Closing, FrameLog, Line, Look, Stretch, Watcher},
    vocabulary::{ConversationId, ConversationStamp, Frame, MessageId, PlayerId, TurnId},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::replay;
use crate::store::{Store, StoreError, Stored, conversations, messages, queue};

/// Finished Messages in one read; no statement is open while a socket is written.
const PAGE: usize = 200;

/// What a reader gets next.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Frames(Arc<Stretch>),
    Ended(Ended),
}

/// Why a reader has come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The turn that it was opened for.
    Turn,
    /// The Conversation was deleted, or is not this Player's any more.
    Gone,
    /// The process is being stopped.
    Stopping,
    /// The store could not be read: who comes back with the cursor reads again.
    Unreadable,
}

pub struct Reader {
    store: Store,
    conversation: ConversationId,
    player: PlayerId,
    watcher: Watcher,
    cursor: u64,
    /// It ends behind this turn's terminal frame.
    until: Option<TurnId>,
    /// The reply that it was opened for, where that may stand in another turn than the one that ends first.
    reply: Option<MessageId>,
    /// The turn has ended, and whether the reply stands in it is still to be looked up.
    turn_is_over: bool,
    /// Where the store has that turn's end, once it was looked for there. It may stand where the log tells of it by another
    /// Message's start alone: when the reply was made anew, or the Player said it otherwise.
    end: Option<u64>,
    ended: Option<Ended>,
    /// Nobody was awake and the store had nothing more: only a change makes it worth reading again.
    rested: bool,
    /// Readers of one stream that read the store in turn: a page each.
    turns: Option<Arc<Semaphore>>,
    /// Held until the page has been taken.
    page: Option<OwnedSemaphorePermit>,
}

impl Reader {
    pub fn new(store: Store, log: &FrameLog, conversation: ConversationId, player: PlayerId, cursor: u64) -> Self {
        Self {
            store,
            conversation,
            player,
            watcher: log.watch(),
            cursor,
            until: None,
            reply: None,
            turn_is_over: false,
            end: None,
            ended: None,
            rested: false,
            turns: None,
            page: None,
        }
    }

    /// Ends behind this turn's terminal frame, which stands at `end` if it has ended.
    #[must_use]
    pub fn until(mut self, turn: TurnId, end: Option<u64>) -> Self {
        self.until = Some(turn);
        self.end = end;
        self
    }

    /// When the turn has ended without this reply, ends behind the turn that has it instead.
    #[must_use]
    pub fn following(mut self, reply: MessageId) -> Self {
        self.reply = Some(reply);
        self.turn_is_over = self.end.is_some_and(|end| self.cursor >= end);
        self
    }

    /// Shares the store with other readers: one page of all of them is in memory at a time, and each gets its turn.
    #[must_use]
    pub fn in_turns(mut self, turns: Arc<Semaphore>) -> Self {
        self.turns = Some(turns);
        self
    }

    pub fn conversation(&self) -> ConversationId {
        self.conversation
    }

    /// Waits for the next step. A caller may stop waiting at any time and ask again: nothing is lost.
    pub async fn next(&mut self) -> Step {
        self.page = None;
        loop {
            if self.turn_is_over {
                Box::pin(self.follow()).await;
            }
            if let Some(ended) = self.ended {
                return Step::Ended(ended);
            }
            match self.watcher.look(self.cursor) {
                Look::Frames(stretch) => return Step::Frames(self.take(stretch)),
                // Boxed: a reader that only waits does not keep room for a read.
                Look::Behind { floor } => match Box::pin(self.replay(Some(floor))).await {
                    Some(stretch) => return Step::Frames(stretch),
                    None => continue,
                },
                Look::Dormant if self.rested && self.watcher.closing().is_none() => {}
                Look::Dormant => {
                    // Asked before the store: what is committed before the closing is read.
                    let closing = self.watcher.closing();
                    if let Some(stretch) = Box::pin(self.replay(None)).await {
                        return Step::Frames(stretch);
                    }
                    self.rested = true;
                    self.ended = self.ended.or(closing.map(Ended::from));
                    if self.ended.is_some() {
                        continue;
                    }
                    // Not looked at again before it has changed: a look would take a change of meanwhile for seen.
                }
                Look::UpToDate => {}
                Look::Closed(why) => {
                    self.ended = Some(why.into());
                    continue;
                }
            }
            if !self.watcher.changed().await {
                self.ended = Some(Ended::Stopping);
            }
            self.rested = false;
        }
    }

    fn take(&mut self, stretch: Arc<Stretch>) -> Arc<Stretch> {
        let last = self.until.and_then(|turn| stretch.up_to_end_of(turn)).map(Arc::new);
        if last.is_some() {
            self.end_of_turn();
        }
        let stretch = last.unwrap_or(stretch);
        self.move_to(stretch.cursor());
        stretch
    }

    fn move_to(&mut self, cursor: u64) {
        self.cursor = self.cursor.max(cursor);
        if self.ended.is_none() && self.end.is_some_and(|end| self.cursor >= end) {
            self.end_of_turn();
        }
    }

    fn end_of_turn(&mut self) {
        match self.reply {
            Some(_) => self.turn_is_over = true,
            None => self.ended = Some(Ended::Turn),
        }
    }

    /// The turn has ended: from now on it is known where its text is answered.
    async fn follow(&mut self) {
        let (id, player, reply) = (self.conversation, self.player, self.reply);
        let read = self.store.read(move |conn| {
            let row = conversations::of_player(conn, id, player)?;
            Ok(reply.map(|reply| queue::answered_in(conn, row.key, reply)).transpose()?.flatten())
        });
        let found = read.await;
        (self.reply, self.turn_is_over) = (None, false);
        match found {
            Ok(turn) if turn.is_some() && turn != self.until => (self.until, self.end) = (turn, None),
            // It stands in this one, or was withdrawn.
            Ok(_) => self.ended = Some(Ended::Turn),
            Err(error) => self.fail(error),
        }
    }

    fn fail(&mut self, error: StoreError) {
        self.ended = Some(match error {
            StoreError::NotFound => Ended::Gone,
            error => {
                tracing::error!(%error, "a replay could not be read");
                Ended::Unreadable
            }
        });
    }

    /// A page of what ended behind the cursor; without a floor, up to the store's own end. None: there was nothing.
    async fn replay(&mut self, floor: Option<u64>) -> Option<Arc<Stretch>> {
        let page = match &self.turns {
            // Nobody closes it.
            Some(turns) => Arc::clone(turns).acquire_owned().await.ok(),
            None => None,
        };
        let (id, player, cursor, until) = (self.conversation, self.player, self.cursor, self.until);
        let read = self
            .store
            .read(move |conn| {
                let row = conversations::of_player(conn, id, player)?;
                let upto = match floor {
                    Some(floor) => floor,
                    None => messages::settled_seq(conn, &row)?,
                };
                let ended = messages::ended_between(conn, row.key, cursor, upto, PAGE)?;
                let end = until.map(|turn| messages::turn_end(conn, row.key, turn, cursor)).transpose()?.flatten();
                Ok((ended, upto, end, ConversationStamp { title: row.title, updated_at: row.updated_at }))
            })
            .await;
        let (found, upto, end, stamp) = match read {
            Ok(read) => read,
            Err(error) => {
                self.fail(error);
                return None;
            }
        };
        self.end = end.or(self.end);
        let lines: Vec<Line> = found.messages.into_iter().flat_map(|stored| lines(stored, &stamp)).collect();
        let stretch = (!lines.is_empty()).then(|| self.take(Arc::new(Stretch::new(cursor, lines))));
        if !found.more && self.ended.is_none() && !self.turn_is_over {
            self.move_to(upto);
        }
        self.page = page.filter(|_| stretch.is_some());
        stretch
    }
}

/// A stored Message's frames: only the last one moves the cursor, so that whoever is cut off reads the whole Message again.
fn lines(stored: Stored, stamp: &ConversationStamp) -> Vec<Line> {
    let (last_seq, turn) = (stored.last_seq, stored.terminal.then_some(stored.message.turn_id));
    let frames = replay::frames(stored, stamp);
    let last = frames.len().saturating_sub(1);
    let line = |(at, frame): (usize, Frame)| {
        let (seq, ends) = if at == last { (Some(last_seq), turn) } else { (None, None) };
        Line { seq, json: frame.to_json(), ends }
    };
    frames.into_iter().enumerate().map(line).collect()
}

impl From<Closing> for Ended {
    fn from(why: Closing) -> Self {
        match why {
            Closing::Deleted => Self::Gone,
            Closing::Stopping => Self::Stopping,
        }
    }
}

#[cfg(test)]
mod tests;
