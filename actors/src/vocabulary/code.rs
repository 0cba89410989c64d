//! Every stable code that a person or a program can meet, in one list. Which status a code has over HTTP is written in
//! one place of the server; the engine knows none.

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $wire:literal),* $(,)?) => {
        /// A stable code: of a refusal before the stream, or of an `error` frame within it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum ErrorCode {$(
            $(#[$doc])*
            #[serde(rename = $wire)]
            $name,
        )*}

        impl ErrorCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$name),*];

            pub fn as_str(self) -> &'static str {
                match self {$( Self::$name => $wire, )*}
            }
        }
    };
}

codes! {
    /// The body or a parameter is not what the route reads.
    InvalidBody = "INVALID_BODY",
    /// The Conversation has no NPC that could answer.
    NoNpc = "NO_NPC",
    /// Neither the NPC nor the Village names a model for its Provider.
    NoModel = "NO_MODEL",
    /// The NPC's Provider has no key on this instance now.
    NoProviderKey = "NO_PROVIDER_KEY",
    /// There is no reply that could be made anew.
    NothingToRegenerate = "NOTHING_TO_REGENERATE",
    /// The last reply came to its end.
    NothingToContinue = "NOTHING_TO_CONTINUE",
    Unauthenticated = "UNAUTHENTICATED",
    /// The name and password, link or invitation is not (or no longer) good.
    InvalidCredentials = "INVALID_CREDENTIALS",
    OutOfCredits = "OUT_OF_CREDITS",
    Forbidden = "FORBIDDEN",
    /// The Host header names a machine that this server does not answer for.
    HostNotAllowed = "HOST_NOT_ALLOWED",
    /// The request comes from a page of another origin.
    OriginNotAllowed = "ORIGIN_NOT_ALLOWED",
    SignUpClosed = "SIGN_UP_CLOSED",
    NotFound = "NOT_FOUND",
    MethodNotAllowed = "METHOD_NOT_ALLOWED",
    TurnInProgress = "TURN_IN_PROGRESS",
    TurnMismatch = "TURN_MISMATCH",
    NotLeased = "NOT_LEASED",
    /// The Message does not wait (any more): it was taken up or withdrawn.
    NotQueued = "NOT_QUEUED",
    /// The tool call does not wait for an approval (any more): somebody has decided, it expired, or the turn ended.
    NotAwaiting = "NOT_AWAITING",
    SettingPinned = "SETTING_PINNED",
    /// The name is taken, or something still refers to what was to be deleted.
    Conflict = "CONFLICT",
    /// An operator's wish for an actor where nobody is awake.
    NotAwake = "NOT_AWAKE",
    /// An operator's release of a Conversation that is not quarantined.
    NotQuarantined = "NOT_QUARANTINED",
    BodyTooLarge = "BODY_TOO_LARGE",
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE",
    IdempotencyMismatch = "IDEMPOTENCY_MISMATCH",
    RateLimited = "RATE_LIMITED",
    MailboxFull = "MAILBOX_FULL",
    /// As many texts wait in the Conversation as may.
    QueueFull = "QUEUE_FULL",
    StoreUnavailable = "STORE_UNAVAILABLE",
    ShuttingDown = "SHUTTING_DOWN",
    /// The Conversation failed again and again, and is put aside until an operator releases it.
    Quarantined = "QUARANTINED",
    /// The Provider refused, or failed in the middle.
    ProviderError = "PROVIDER_ERROR",
    /// The Provider could not be reached, or fell silent beyond the limit.
    ProviderTimeout = "PROVIDER_TIMEOUT",
    /// The Provider's stream ended without its end mark: what came is kept.
    ReplyTruncated = "REPLY_TRUNCATED",
    /// The reply grew beyond what is kept of one; what had come is kept.
    ReplyTooLong = "REPLY_TOO_LONG",
    /// The Provider said that it was done and had said nothing.
    EmptyReply = "EMPTY_REPLY",
    /// The Provider withheld the reply, or the rest of it.
    ContentFiltered = "CONTENT_FILTERED",
    /// A tool call was cut off or its arguments are no JSON object: it was not run.
    ToolCallInvalid = "TOOL_CALL_INVALID",
    HopLimit = "HOP_LIMIT",
    StepLimit = "STEP_LIMIT",
    /// The process ended in the middle of the reply.
    Interrupted = "INTERRUPTED",
    Internal = "INTERNAL",
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What sort of trouble an `error` frame tells of, so that a client can choose what to offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    RateLimit,
    Billing,
    Auth,
    Timeout,
    Server,
    Network,
    /// The Provider would not take the request as it was.
    Request,
    /// Withheld, empty or malformed content.
    Content,
    /// One of the Village's own limits.
    Limit,
    Store,
    Unknown,
}
