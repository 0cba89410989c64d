//! What an operator sees of an actor. Put together from what the actor, its log and its seat have published; no actor is
//! asked, and no text of a Conversation is in here.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::Semaphore;

use super::WindowCache;
use crate::{
    conversation::{
        frame_log::FrameLog,
        vitals::{ActorState, LastError, Vitals},
    },
    policy::window::CHARS_PER_TOKEN,
    vocabulary::{ConversationId, Hop, MessageId, Summary, Timestamp, TurnId},
};

/// Readers whose lag is listed; of more, the slowest.
const LAGS: usize = 100;
/// An awake actor without its Conversation's text, about.
const ACTOR_BYTES: usize = 6_500;

/// One actor as it was at a moment. Numbers are as published; they are not of one instant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActorView {
    pub conversation_id: ConversationId,
    pub state: ActorState,
    /// `assembling`, `streaming`, or `tool:` and the name of the tool that runs or waits for a yes.
    pub phase: Option<String>,
    pub turn: Option<TurnView>,
    pub speaker: Option<SpeakerView>,
    /// The Provider call that the turn is at, from 1; 0 without a turn.
    pub step: u32,
    pub hop: Hop,
    /// Messages that wait for their turn; 0 when nobody is awake.
    pub queue: usize,
    /// Requests in the bounded mailbox; None when nobody is awake.
    pub mailbox: Option<MailboxView>,
    pub watchers: WatchersView,
    /// The newest seq that was shown; None when nobody is awake.
    pub cursor: Option<u64>,
    /// None when nobody is awake.
    pub epoch: Option<u64>,
    /// The cached window.
    pub history: HistoryView,
    /// The Messages that the summary stands for.
    pub summary: Option<SummaryView>,
    pub restarts: RestartsView,
    pub last_error: Option<LastError>,
    /// Bytes held in memory for this Conversation, estimated.
    pub memory_bytes: usize,
    pub last_activity: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnView {
    pub id: TurnId,
    /// The NPC's Message.
    pub message_id: MessageId,
    /// When it was admitted.
    pub since: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpeakerView {
    pub id: String,
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MailboxView {
    pub depth: usize,
    pub capacity: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct WatchersView {
    pub count: usize,
    /// How many frames each is behind, the slowest first: at most the 100 slowest.
    pub lags: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct HistoryView {
    pub messages: usize,
    /// Estimated.
    pub tokens: usize,
}

/// Places in the transcript, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SummaryView {
    pub from: i64,
    pub to: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RestartsView {
    /// Within the time that counts towards quarantine.
    pub recent: usize,
    pub total: u64,
}

impl SummaryView {
    pub fn of(summary: &Summary) -> Self {
        Self { from: summary.from_position, to: summary.through_position }
    }
}

impl ActorView {
    /// Whether an actor has published this. Of who sleeps only the store knows what waits.
    pub fn is_awake(&self) -> bool {
        self.mailbox.is_some()
    }

    /// Whether numbers of it move without a change of state.
    pub fn is_moving(&self) -> bool {
        self.turn.is_some() || self.watchers.lags.first().is_some_and(|lag| *lag > 0)
    }
}

/// Everything published about one seat, so that a view can be put together away from the Village.
pub struct Card {
    pub conversation: ConversationId,
    pub log: Arc<FrameLog>,
    pub awake: Option<(Arc<Vitals>, Arc<Semaphore>)>,
    pub capacity: usize,
    pub quarantined: bool,
    pub restarts: RestartsView,
    /// Of an earlier instance.
    pub last_error: Option<LastError>,
    pub last_activity: Option<Timestamp>,
}

impl Card {
    pub fn view(&self, windows: &WindowCache) -> ActorView {
        let vital = self.awake.as_ref().map(|(vitals, _)| vitals.read());
        let standing = vital.as_ref().map(|vital| vital.standing).unwrap_or_default();
        let state = if vital.is_some() { standing.state } else { self.state_without_actor() };
        let since = vital.as_ref().map(|vital| vital.since).unwrap_or_default();
        let recent = windows.peek(self.conversation);
        let mut lags = self.log.lags();
        let count = lags.len();
        lags.truncate(LAGS);
        ActorView {
            conversation_id: self.conversation,
            state,
            phase: standing.phase.map(|phase| phase.told(vital.as_ref().and_then(|vital| vital.tool.as_deref()))),
            turn: standing.turn.map(|(id, message_id)| TurnView { id, message_id, since }),
            speaker: vital
                .as_ref()
                .and_then(|vital| vital.speaker.as_ref())
                .map(|speaker| SpeakerView { id: speaker.id.clone(), name: speaker.name.clone() }),
            step: standing.step,
            hop: standing.hop,
            queue: standing.queue,
            mailbox: self
                .awake
                .as_ref()
                .map(|(_, mailbox)| MailboxView { depth: self.depth(mailbox), capacity: self.capacity }),
            watchers: WatchersView { count, lags },
            cursor: self.log.head(),
            epoch: vital.as_ref().map(|vital| vital.standing.epoch),
            history: recent.as_ref().map_or_else(HistoryView::default, |recent| HistoryView {
                messages: recent.window.said().len(),
                tokens: recent.window.chars().div_ceil(CHARS_PER_TOKEN),
            }),
            summary: recent.as_ref().and_then(|recent| recent.summary.as_deref()).map(SummaryView::of),
            restarts: self.restarts,
            memory_bytes: self.memory(recent.map_or(0, |recent| recent.window.weight())),
            last_error: vital.and_then(|vital| vital.last_error).or_else(|| self.last_error.clone()),
            last_activity: self.awake.as_ref().and_then(|(vitals, _)| vitals.last_activity()).or(self.last_activity),
        }
    }

    pub fn state(&self) -> ActorState {
        self.awake.as_ref().map_or_else(|| self.state_without_actor(), |(vitals, _)| vitals.state())
    }

    pub fn state_without_actor(&self) -> ActorState {
        if self.quarantined { ActorState::Quarantined } else { ActorState::Asleep }
    }

    pub fn depth(&self, mailbox: &Semaphore) -> usize {
        self.capacity.saturating_sub(mailbox.available_permits())
    }

    /// The log and the fold hold the running reply once each.
    fn memory(&self, window: usize) -> usize {
        let log = self.log.weight();
        let awake = self.awake.as_ref().map_or(0, |(vitals, _)| {
            let fold = if self.log.running_turn().is_some() { log } else { 0 };
            ACTOR_BYTES + vitals.pending_bytes() + fold
        });
        log + awake + window
    }
}
