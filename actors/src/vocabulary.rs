//! The words of the engine as plain values. Serde forms here are the wire contract (docs/protocol.md) and nothing else:
//! no value in this module knows how it is stored or sent.

mod body;
mod code;
mod delta;
mod frame;
mod grant;
mod ids;
mod message;
mod npc;
mod part;
mod party;
mod recollection;
mod skill;
mod summary;
mod timestamp;
mod transcript;
mod usage;

pub use body::{Body, Piece};
pub use code::{ErrorCode, ErrorKind};
pub use delta::{CallDelta, Delta, merge};
pub use frame::{ConversationStamp, Finish, Frame, MessageError, Start, StartedMessage, TurnStamp, TurnState};
pub use grant::{Approval, Grant};
pub use ids::{
    ConversationId, InvalidId, MemoryId, MessageId, NpcId, PlayerId, ProviderId, SkillId, ToolServerId, TurnId,
};
pub use message::{Author, AuthorKind, Hop, Message, MessageStatus, Role, TITLE_LIMIT, title_of};
pub use npc::{ModelParams, Npc};
pub use part::{CallState, Executor, Opaque, Part, ToolCall, ToolResult};
pub use party::{NewcomersKnow, SpeakerPolicy};
pub use recollection::Recollection;
pub use skill::SkillHead;
pub use summary::{Summary, SummaryMaker};
pub use timestamp::Timestamp;
pub use transcript::{Entry, Transcript};
pub use usage::{FinishReason, Usage};
