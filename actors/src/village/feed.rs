//! Tells who inspects that something changed. A change is a number on its seat; a subscriber is a cursor and a wake-up,
//! so that one that is slow gets the newest view of each changed actor and nothing queues up. While nobody subscribes, a
//! change costs one look at a counter.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

use super::{Census, view::ActorView};
use crate::{
    engine::{Engine, EngineError},
    vocabulary::ConversationId,
};

/// Between two answers of a feed at least: what changes in between is merged.
const PACE: Duration = Duration::from_millis(250);
/// How often actors are looked at again whose readers or turns move without a change of state.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The number of changes so far.
#[derive(Debug, Default)]
pub struct Feed {
    changes: watch::Sender<Changes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Changes {
    newest: u64,
    /// The newest at which a seat was given up.
    departed: u64,
}

/// A seat's place in the feed.
#[derive(Debug)]
pub struct Mark {
    feed: Arc<Feed>,
    changed: AtomicU64,
}

impl Mark {
    pub fn new(feed: Arc<Feed>) -> Self {
        Self { feed, changed: AtomicU64::new(0) }
    }

    /// Something about this seat is different now.
    pub fn touch(&self) {
        if self.feed.changes.receiver_count() == 0 {
            return;
        }
        // Within the lock: whoever reads the newest number finds every smaller one on its seat.
        self.feed.changes.send_modify(|changes| {
            changes.newest += 1;
            self.changed.store(changes.newest, Ordering::Release);
        });
    }

    pub fn is_behind(&self, since: u64) -> bool {
        self.changed.load(Ordering::Acquire) > since
    }
}

impl Feed {
    /// A seat was given up.
    pub fn depart(&self) {
        if self.changes.receiver_count() > 0 {
            self.changes.send_modify(|changes| {
                changes.newest += 1;
                changes.departed = changes.newest;
            });
        }
    }

    pub fn subscribe(self: &Arc<Self>, engine: Engine) -> ActorFeed {
        ActorFeed {
            engine,
            changes: self.changes.subscribe(),
            since: None,
            told: HashMap::new(),
            unsettled: Vec::new(),
            not_before: Instant::now(),
        }
    }
}

/// The changed views, as they come.
pub struct ActorFeed {
    engine: Engine,
    changes: watch::Receiver<Changes>,
    since: Option<u64>,
    told: HashMap<ConversationId, ActorView>,
    /// A turn runs there, or a reader is behind: numbers move without a change of state.
    unsettled: Vec<ConversationId>,
    not_before: Instant,
}

/// What is different since the feed answered last.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActorChanges {
    pub changed: Vec<ActorView>,
    /// Asleep, and watched by nobody.
    pub gone: Vec<ConversationId>,
}

impl ActorFeed {
    /// The first time all actors at once; then waits for something to change. Answers at most four times a second.
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// Shutting down.
    pub async fn next(&mut self) -> Result<ActorChanges, EngineError> {
        loop {
            self.woken().await?;
            sleep_until(self.not_before).await;
            let changes = *self.changes.borrow();
            let everything = self.since.is_none_or(|since| changes.departed > since);
            let first = self.since.is_none();
            let views = match self.since {
                Some(since) if !everything => self.engine.census(Census::Since(since, self.unsettled.clone())).await?,
                _ => self.engine.actors().await?,
            };
            (self.since, self.not_before) = (Some(changes.newest), Instant::now() + PACE);
            let answer = self.differences(views, everything);
            if first || answer != ActorChanges::default() {
                return Ok(answer);
            }
        }
    }

    async fn woken(&mut self) -> Result<(), EngineError> {
        let Some(since) = self.since else { return Ok(()) };
        let again = async {
            match self.unsettled.is_empty() {
                true => std::future::pending().await,
                false => sleep(LOOK_AGAIN).await,
            }
        };
        tokio::select! {
            changed = self.changes.wait_for(|changes| changes.newest > since) => {
                changed.map(drop).map_err(|_| EngineError::ShuttingDown)
            }
            () = again => Ok(()),
        }
    }

    fn differences(&mut self, views: Vec<ActorView>, everything: bool) -> ActorChanges {
        let mut gone = Vec::new();
        if everything {
            let here: std::collections::HashSet<_> = views.iter().map(|view| view.conversation_id).collect();
            gone.extend(self.told.keys().filter(|id| !here.contains(id)));
            self.told.retain(|id, _| here.contains(id));
        }
        let mut changed = Vec::new();
        for view in views {
            if self.told.get(&view.conversation_id) != Some(&view) {
                self.told.insert(view.conversation_id, view.clone());
                changed.push(view);
            }
        }
        self.unsettled = self.told.values().filter(|view| view.is_moving()).map(|view| view.conversation_id).collect();
        ActorChanges { changed, gone }
    }
}
