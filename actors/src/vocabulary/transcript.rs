//! The reader's half of the one fold: frames become a transcript. `tests/fold/*.json` specifies it; this module and the
//! browser's `web/src/fold.ts` both run those files (promise 5).

use serde::{Deserialize, Serialize};

use super::{
    Author, Body, Finish, FinishReason, Frame, Hop, Message, MessageError, MessageId, MessageStatus, Part, Piece, Role,
    Start, Timestamp, TurnId, Usage,
};

/// A Message as a reader has it so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub id: MessageId,
    pub turn_id: TurnId,
    pub role: Role,
    pub author: Author,
    pub position: i64,
    pub status: MessageStatus,
    pub parts: Vec<Part>,
    pub finish_reason: Option<FinishReason>,
    pub usage: Option<Usage>,
    pub error: Option<MessageError>,
    pub hop: Hop,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    pub created_at: Timestamp,
}

/// All Messages that a reader sees, sorted by position.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    entries: Vec<Entry>,
    title: Option<String>,
}

impl Transcript {
    /// Begins with what `GET .../messages` answered; frames from its cursor on are folded on top.
    pub fn of(messages: impl IntoIterator<Item = Message>) -> Self {
        let mut transcript = Self::default();
        for message in messages {
            transcript.put(Entry::from(message));
        }
        transcript
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The Conversation's title as the last finish frame told it.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    pub fn fold(&mut self, frame: Frame) {
        match frame {
            Frame::Start(start) => self.start(start),
            Frame::Part { message_id, index, part } => self.part(message_id, Piece::Part { index, part }),
            Frame::Error { message_id, error, .. } => {
                if let Some(entry) = message_id.and_then(|id| self.entry(id)) {
                    entry.error = Some(error);
                }
            }
            Frame::Finish(finish) => self.finish(finish),
        }
    }

    fn start(&mut self, start: Start) {
        let message = start.message;
        self.put(Entry {
            id: message.id,
            turn_id: start.turn_id,
            role: message.role,
            author: message.author,
            position: message.position,
            status: message.status,
            parts: Vec::new(),
            finish_reason: None,
            usage: None,
            error: None,
            hop: start.hop,
            supersedes: start.supersedes,
            client_id: message.client_id,
            created_at: message.created_at,
        });
    }

    fn part(&mut self, id: MessageId, piece: Piece) {
        let Some(entry) = self.entry(id) else { return };
        let mut body = Body { parts: std::mem::take(&mut entry.parts), ..Body::default() };
        body.fold(piece);
        entry.parts = body.parts;
        let gone = std::mem::take(&mut entry.supersedes);
        if !gone.is_empty() {
            self.entries.retain(|entry| !gone.contains(&entry.id));
        }
    }

    fn finish(&mut self, finish: Finish) {
        self.title = finish.conversation.title;
        match finish.status {
            MessageStatus::Superseded | MessageStatus::Withdrawn => {
                self.entries.retain(|entry| entry.id != finish.message_id)
            }
            status => {
                let Some(entry) = self.entry(finish.message_id) else { return };
                entry.status = status;
                entry.finish_reason = finish.finish_reason;
                entry.usage = finish.usage;
                // One that ends without Parts leaves itself, not what it was to supersede.
                entry.supersedes.clear();
            }
        }
    }

    fn entry(&mut self, id: MessageId) -> Option<&mut Entry> {
        self.entries.iter_mut().rev().find(|entry| entry.id == id)
    }

    /// Puts the entry in its place, instead of what was known under its id.
    fn put(&mut self, entry: Entry) {
        self.entries.retain(|known| known.id != entry.id);
        let at = self.entries.partition_point(|known| (known.position, known.id) <= (entry.position, entry.id));
        self.entries.insert(at, entry);
    }
}

impl From<Message> for Entry {
    fn from(message: Message) -> Self {
        Self {
            id: message.id,
            turn_id: message.turn_id,
            role: message.role,
            author: message.author,
            position: message.position,
            status: message.status,
            parts: message.parts,
            finish_reason: message.finish_reason,
            usage: message.usage,
            error: message.error,
            hop: message.hop,
            supersedes: message.supersedes,
            client_id: message.client_id,
            created_at: message.created_at,
        }
    }
}
