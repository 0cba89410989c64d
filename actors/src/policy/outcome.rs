//! What a reply's end means: its status, what the Player must be told, and what closes its open calls. A turn is
//! complete only on the Provider's positive end mark (promise 16), and a cut-off call never runs (promise 13).

use serde_json::Value;

use super::calls::Judged;
use crate::{
    ports::{End, ProviderFailure},
    vocabulary::{
        Body, CallState, Delta, ErrorCode, ErrorKind, FinishReason, MessageError, MessageStatus, Part, ToolCall,
        ToolResult,
    },
};

/// Bytes of one reply at most: far beyond what a model says, and little enough to be read again by every tab.
pub const REPLY_LIMIT: usize = 16 << 20;

/// How a turn's task ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    Provider(End),
    /// The model's answer ended whole, with calls that are to be answered before it goes on.
    Calls(FinishReason, Vec<Judged>),
    /// Every call of a step has its result, or hands over.
    Called,
    /// The speaker has taken as many steps as it may, and wants another one.
    StepLimit(u32),
    /// The Player's Stop, or the last watcher's leaving.
    Aborted,
    /// The process is being stopped.
    ShutDown,
    Panicked,
    /// The reply has more bytes than one Message holds.
    TooLong,
    /// The context could not be read.
    Unreadable,
    /// The store could not commit for so long that the Provider was cancelled.
    StoreUnavailable,
}

impl Ending {
    /// For logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Provider(End::Complete(_)) => "complete",
            Self::Provider(End::Truncated) => "truncated",
            Self::Provider(End::Failed(_)) => "provider failed",
            Self::Calls(..) => "calls",
            Self::Called => "called",
            Self::StepLimit(_) => "step limit",
            Self::Aborted => "aborted",
            Self::ShutDown => "shut down",
            Self::Panicked => "panicked",
            Self::TooLong => "too long",
            Self::Unreadable => "history unreadable",
            Self::StoreUnavailable => "store unavailable",
        }
    }
}

/// The end of a Message, decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub status: MessageStatus,
    pub finish_reason: Option<FinishReason>,
    pub error: Option<MessageError>,
    /// What closes the open calls: each call as done, then its result.
    pub closing: Vec<Delta>,
}

/// Judges a reply by what it holds and how it ended. `provider` is the name that errors show.
pub fn verdict(body: &Body, ending: &Ending, provider: &str) -> Verdict {
    let open = body.open_calls();
    let finish_reason = match ending {
        Ending::Provider(End::Complete(reason)) | Ending::Calls(reason, _) => Some(*reason),
        Ending::Called | Ending::StepLimit(_) => Some(FinishReason::ToolCalls),
        _ => None,
    };
    let (status, error) = match ending {
        Ending::Aborted => (MessageStatus::Aborted, None),
        Ending::Calls(..) | Ending::Called => (MessageStatus::Complete, None),
        Ending::StepLimit(limit) => (MessageStatus::Failed, Some(step_limit(*limit))),
        Ending::ShutDown => (MessageStatus::Interrupted, Some(interrupted())),
        Ending::Panicked | Ending::Unreadable => (MessageStatus::Failed, Some(internal())),
        Ending::TooLong => (MessageStatus::Failed, Some(too_long(provider))),
        Ending::StoreUnavailable => (MessageStatus::Failed, Some(store_was_unavailable())),
        Ending::Provider(end) => match fault(body, end, &open, provider) {
            Some(error) => (MessageStatus::Failed, Some(error)),
            None => (MessageStatus::Complete, None),
        },
    };
    let closing = open.into_iter().flat_map(|call| close(call, ending)).collect();
    Verdict { status, finish_reason, error, closing }
}

fn fault(body: &Body, end: &End, open: &[ToolCall], provider: &str) -> Option<MessageError> {
    let told = |code, kind, message: String, retryable| MessageError {
        code,
        message,
        kind,
        provider: Some(provider.to_owned()),
        status: None,
        retryable,
    };
    match end {
        End::Failed(failure) => Some(failed(failure, provider)),
        End::Truncated if body.parts.is_empty() => Some(told(
            ErrorCode::EmptyReply,
            ErrorKind::Content,
            format!("{provider} sent nothing that could be read."),
            true,
        )),
        End::Truncated => Some(told(
            ErrorCode::ReplyTruncated,
            ErrorKind::Network,
            format!("The reply of {provider} ended, or could not be read on, before it was finished."),
            true,
        )),
        End::Complete(FinishReason::ContentFilter) => Some(told(
            ErrorCode::ContentFiltered,
            ErrorKind::Content,
            format!("{provider} withheld the reply, or the rest of it."),
            false,
        )),
        End::Complete(reason) => {
            // Calls of an answer that ended whole are ruled on, and are not open here.
            if let Some(call) = open.first() {
                let message = format!("The call of {:?} was cut off, so it was not run.", call.name);
                return Some(told(ErrorCode::ToolCallInvalid, ErrorKind::Content, message, true));
            }
            body.is_blank().then(|| {
                let message = match reason {
                    FinishReason::Length => format!("{provider} reached the output limit before the reply began."),
                    _ => format!("{provider} sent an empty reply."),
                };
                told(ErrorCode::EmptyReply, ErrorKind::Content, message, true)
            })
        }
    }
}

fn close(call: ToolCall, ending: &Ending) -> [Delta; 2] {
    // Whether it took effect before it was cut, nobody knows.
    if call.state == CallState::Running {
        return closed_call(call, cut_in(ending));
    }
    let why = match ending {
        Ending::Calls(..) | Ending::Called => "not run: it came too late",
        Ending::StepLimit(_) => "not run: the step limit is reached",
        Ending::Provider(End::Complete(FinishReason::Length)) => "not run: the call was cut off by the output limit",
        Ending::Provider(End::Complete(_)) => "not run: the call was cut off or malformed",
        Ending::Provider(End::Truncated | End::Failed(_)) | Ending::TooLong => "not run: the reply was cut off",
        Ending::Aborted => "not run: stopped",
        Ending::ShutDown => "not run: interrupted",
        Ending::Panicked | Ending::Unreadable | Ending::StoreUnavailable => "not run: the turn failed",
    };
    closed_call(call, why)
}

/// What is said of a call that was running when its turn ended.
fn cut_in(ending: &Ending) -> &'static str {
    match ending {
        Ending::Aborted => "stopped while it ran: whether it took effect is not known",
        Ending::ShutDown => "interrupted while it ran: whether it took effect is not known",
        _ => "cut off while it ran: whether it took effect is not known",
    }
}

/// What recovery says of a call that has no result. `why` is for one that had not begun.
pub fn recovered_call(call: ToolCall, why: &str) -> [Delta; 2] {
    let began = call.state == CallState::Running;
    closed_call(call, if began { "interrupted while it ran: whether it took effect is not known" } else { why })
}

/// The call as done, and the result that stands in for one that never came.
pub fn closed_call(call: ToolCall, why: &str) -> [Delta; 2] {
    answered_call(call, Value::String(why.to_owned()), true)
}

/// The call as done, and what came of it at once.
pub fn answered_call(call: ToolCall, output: Value, is_error: bool) -> [Delta; 2] {
    let result = ToolResult {
        tool_call_id: call.tool_call_id.clone(),
        name: call.name.clone(),
        output,
        is_error,
        elapsed_ms: 0,
        truncated: false,
        parent_tool_call_id: call.parent_tool_call_id.clone(),
    };
    let done = ToolCall { state: CallState::Done, ..call };
    [Delta::Part(Part::ToolCall(done)), Delta::Part(Part::ToolResult(result))]
}

fn failed(failure: &ProviderFailure, provider: &str) -> MessageError {
    MessageError {
        code: failure.code,
        message: failure.message.clone(),
        kind: failure.kind,
        provider: Some(provider.to_owned()),
        status: failure.status,
        retryable: failure.retryable,
    }
}

/// What is stored with a Message that the process left running.
pub fn interrupted() -> MessageError {
    own(
        ErrorCode::Interrupted,
        ErrorKind::Server,
        "Hamlet was stopped in the middle of this reply. What had arrived is kept.",
    )
}

/// What is stored with a Message whose turn failed in itself.
pub fn internal() -> MessageError {
    own(ErrorCode::Internal, ErrorKind::Server, "Something went wrong inside Hamlet. What had arrived is kept.")
}

/// What is stored with the last Message of a Conversation that is put aside.
pub fn quarantined() -> MessageError {
    let message = "This Conversation failed again and again inside Hamlet, so it was put aside. An operator can release it. \
                   What had arrived is kept.";
    MessageError { retryable: false, ..own(ErrorCode::Quarantined, ErrorKind::Server, message) }
}

/// What is stored with a reply that took all its steps and wanted more (promise 14).
fn step_limit(limit: u32) -> MessageError {
    let message = format!("This reply has taken all {limit} steps that one speaker may take, and was ended there.");
    MessageError {
        code: ErrorCode::StepLimit,
        message,
        kind: ErrorKind::Limit,
        provider: None,
        status: None,
        retryable: true,
    }
}

/// What is stored with a reply that wanted to hand over once too often (promise 14).
pub fn hop_limit(limit: u32, to: &str) -> MessageError {
    let message = format!(
        "{to} was to go on, but this turn has had all {limit} hand-overs that it may have. You can allow more."
    );
    MessageError {
        code: ErrorCode::HopLimit,
        message,
        kind: ErrorKind::Limit,
        provider: None,
        status: None,
        retryable: true,
    }
}

fn too_long(provider: &str) -> MessageError {
    MessageError {
        code: ErrorCode::ReplyTooLong,
        message: format!("{provider} went on beyond {} MiB, so Hamlet stopped it.", REPLY_LIMIT >> 20),
        kind: ErrorKind::Limit,
        provider: Some(provider.to_owned()),
        status: None,
        retryable: false,
    }
}

/// What watchers are told, without an id, while it is so.
pub fn store_unavailable() -> MessageError {
    own(
        ErrorCode::StoreUnavailable,
        ErrorKind::Store,
        "Hamlet's store cannot be written. Nothing more is shown until it can.",
    )
}

/// What is stored of the reply once the store commits again.
fn store_was_unavailable() -> MessageError {
    own(
        ErrorCode::StoreUnavailable,
        ErrorKind::Store,
        "Hamlet's store could not be written, so this reply was stopped. What had arrived is kept.",
    )
}

/// What watchers are told, without an id, of a text whose turn could not begin.
pub fn not_taken_up() -> MessageError {
    own(
        ErrorCode::StoreUnavailable,
        ErrorKind::Store,
        "Hamlet's store cannot be written, so the text that waits was not taken up. It waits until you let it go on.",
    )
}

fn own(code: ErrorCode, kind: ErrorKind, message: &str) -> MessageError {
    MessageError { code, message: message.to_owned(), kind, provider: None, status: None, retryable: true }
}
