//! What a subscriber sees. Four types and no more; the type is inside the JSON.

use serde::{Deserialize, Serialize};

use super::{
    Author, ConversationId, ErrorCode, ErrorKind, FinishReason, Hop, MessageId, MessageStatus, Part, Role, Timestamp,
    TurnId, Usage,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum Frame {
    /// A Message begins. A reader that knows this id empties it and reads on.
    Start(Start),
    /// A Part or a piece of one; text and reasoning append, every other kind replaces.
    Part { message_id: MessageId, index: u32, part: Part },
    /// Something that the Player must be told. One a Message; the last wins. None: it is about the whole Conversation, and no
    /// transcript.
    Error {
        turn_id: Option<TurnId>,
        message_id: Option<MessageId>,
        #[serde(flatten)]
        error: MessageError,
    },
    /// A Message ends. `turn.state == "ended"` makes it its turn's one terminal frame.
    Finish(Finish),
}

/// What a reader gets in the place of a frame that cannot be written.
const UNWRITABLE: &str = r#"{"type":"error","turnId":null,"messageId":null,"code":"INTERNAL","message":"Hamlet could not write something that belongs here. Reload the page.","kind":"server","retryable":true}"#;

impl Frame {
    /// As every transport writes it. Frames are plain values, and writing those to memory does not fail; if it does all the
    /// same, that is told, and not left out.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_else(|error| {
            tracing::error!(%error, "a frame could not be written");
            UNWRITABLE.as_bytes().to_vec()
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Start {
    pub conversation_id: ConversationId,
    pub turn_id: TurnId,
    pub message: StartedMessage,
    pub hop: Hop,
    /// These leave the transcript with the first Part of this Message.
    #[serde(default)]
    pub supersedes: Vec<MessageId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartedMessage {
    pub id: MessageId,
    pub role: Role,
    pub author: Author,
    /// Sorts the transcript.
    pub position: i64,
    pub created_at: Timestamp,
    pub status: MessageStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finish {
    pub message_id: MessageId,
    pub status: MessageStatus,
    pub finish_reason: Option<FinishReason>,
    pub usage: Option<Usage>,
    pub turn: TurnStamp,
    pub conversation: ConversationStamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStamp {
    pub id: TurnId,
    pub state: TurnState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnState {
    Running,
    Queued,
    Ended,
}

/// What the Conversation list needs to know when a Message ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationStamp {
    pub title: Option<String>,
    pub updated_at: Timestamp,
}

/// What went wrong with a Message; stored with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageError {
    pub code: ErrorCode,
    pub message: String,
    pub kind: ErrorKind,
    /// The Provider's name, where one had a part in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The Provider's HTTP status, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Whether the same request may go better later.
    pub retryable: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_a_frame_that_cannot_be_written_is_a_frame() {
        let frame: Frame = serde_json::from_str(UNWRITABLE).unwrap();
        assert!(matches!(&frame, Frame::Error { message_id: None, error, .. } if error.code == ErrorCode::Internal));
        assert_eq!(String::from_utf8(frame.to_json()).unwrap(), UNWRITABLE);
    }
}
