//! Tool calls out of fragments whose index, id and name each may be missing, late, repeated or wrong. Finds the call
//! that a fragment belongs to, gives each call an identity of its own and joins the raw arguments. Whether a call may
//! run is not known here.

use std::borrow::Cow;

use hamlet_actors::vocabulary::{CallDelta, Delta};
use serde::de::IgnoredAny;
use uuid::Uuid;

use super::{
    strings::{Joint, Piece},
    wire::{CallPiece, FunctionPiece, Raw},
};

/// What the calls of one reply may hold, so that a stream without end has one.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Charged for each call beside its bytes: a thousand calls are the end of it.
const CALL_COST: usize = 16 * 1024;
const MAX_ID: usize = 4096;

/// The index under which the older `function_call` field is kept apart from the list.
const LEGACY: i64 = i64::MIN;

/// The calls of a reply grew beyond their bound.
#[derive(Debug, PartialEq, Eq)]
pub struct TooManyCalls;

#[derive(Debug, Default)]
pub struct Calls {
    calls: Vec<Call>,
    bytes: usize,
}

#[derive(Debug)]
struct Call {
    slot: Option<i64>,
    /// The id on the wire; empty while none came.
    wire_id: String,
    /// Ours: unique in the reply and never changed once told.
    id: String,
    name: String,
    arguments: String,
    joint: Joint,
    /// The arguments are an empty object that the server sent ahead of the real ones.
    placeholder: bool,
    /// The name came again behind whole arguments: what follows is another call.
    named_again: bool,
    told_name: String,
    told_arguments: usize,
}

/// One entry of a `tool_calls` list, read.
struct Fragment<'a> {
    slot: Option<i64>,
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    /// It carries `id` or `type`, as the first fragment of a call does.
    is_header: bool,
    /// A later entry of one list without an index: certainly not the entry before it.
    is_next: bool,
    arguments: Arguments<'a>,
}

enum Arguments<'a> {
    Absent,
    Text(Piece<'a>),
    /// Not a string but the value itself, as it is written.
    Value(&'a str),
}

impl Calls {
    /// The `tool_calls` of one chunk; tells each call whose name became known.
    pub fn take(&mut self, pieces: &[CallPiece<'_>], mut tell: impl FnMut(Delta)) -> Result<(), TooManyCalls> {
        for (at, piece) in pieces.iter().enumerate() {
            self.fragment(Fragment::of(piece, at), &mut tell)?;
        }
        Ok(())
    }

    pub fn take_legacy(&mut self, piece: &FunctionPiece<'_>, mut tell: impl FnMut(Delta)) -> Result<(), TooManyCalls> {
        let fragment = Fragment {
            slot: Some(LEGACY),
            id: Cow::Borrowed(""),
            name: text(piece.name),
            is_header: false,
            is_next: false,
            arguments: Arguments::of(piece.arguments),
        };
        self.fragment(fragment, &mut tell)
    }

    /// The stream is complete: every call with all its arguments.
    pub fn close(&mut self) -> impl Iterator<Item = Delta> {
        self.calls.drain(..).filter_map(|mut call| {
            call.end_text();
            if call.name.is_empty() && call.arguments.trim().is_empty() {
                return None;
            }
            let arguments = if call.arguments.trim().is_empty() { "{}".to_owned() } else { call.arguments };
            Some(Delta::Call(CallDelta { id: call.id, name: call.name, arguments, closed: true }))
        })
    }

    /// The stream broke off: what was not told yet of each call, so that nothing that was billed is lost.
    pub fn break_off(&mut self) -> impl Iterator<Item = Delta> {
        self.calls.drain(..).filter_map(|mut call| {
            call.end_text();
            let is_news = call.arguments.len() > call.told_arguments || call.told_name != call.name;
            is_news.then(|| Delta::Call(call.so_far()))
        })
    }

    /// Whether any call is worth telling of.
    pub fn has_content(&self) -> bool {
        self.calls.iter().any(|call| !call.name.is_empty() || !call.arguments.trim().is_empty())
    }

    fn fragment(&mut self, fragment: Fragment<'_>, tell: &mut impl FnMut(Delta)) -> Result<(), TooManyCalls> {
        let at = match self.find(&fragment).filter(|&at| !self.calls[at].is_followed_by(&fragment)) {
            Some(at) => at,
            None => self.open(&fragment)?,
        };
        self.bytes += fragment.len();
        if self.bytes > MAX_BYTES {
            return Err(TooManyCalls);
        }
        let call = &mut self.calls[at];
        call.append(fragment);
        if call.told_name != call.name {
            call.told_name.clone_from(&call.name);
            call.told_arguments = call.arguments.len();
            tell(Delta::Call(call.so_far()));
        }
        Ok(())
    }

    /// The call that a fragment continues: the newest with its id, else the newest at its index, else the newest.
    fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let agrees = |call: &Call| call.slot == fragment.slot || call.slot.is_none() || fragment.slot.is_none();
        if !fragment.id.is_empty() {
            return self.calls.iter().rposition(|call| call.wire_id == fragment.id && agrees(call)).or_else(|| {
                // The id may be late: it belongs to the newest call there, if that has none.
                let at = self.calls.iter().rposition(agrees)?;
                (self.calls[at].wire_id.is_empty() && !fragment.is_next).then_some(at)
            });
        }
        match fragment.slot {
            Some(_) => self.calls.iter().rposition(|call| call.slot == fragment.slot),
            None if fragment.is_next && !fragment.name.is_empty() => None,
            None => self.calls.len().checked_sub(1),
        }
    }

    fn open(&mut self, fragment: &Fragment<'_>) -> Result<usize, TooManyCalls> {
        self.bytes += CALL_COST;
        if self.bytes > MAX_BYTES {
            return Err(TooManyCalls);
        }
        let is_usable = !fragment.id.trim().is_empty()
            && fragment.id.len() <= MAX_ID
            && !fragment.id.contains(char::is_control)
            && self.calls.iter().all(|call| call.id != fragment.id);
        let id = if is_usable { fragment.id.to_string() } else { minted_id() };
        // Where only whole arguments showed that another call began, its name is the one that came before.
        let name = match self.find(fragment) {
            Some(before) if fragment.name.is_empty() => self.calls[before].name.clone(),
            _ => String::new(),
        };
        self.calls.push(Call {
            slot: fragment.slot,
            wire_id: fragment.id.to_string(),
            id,
            name,
            arguments: String::new(),
            joint: Joint::default(),
            placeholder: false,
            named_again: false,
            told_name: String::new(),
            told_arguments: 0,
        });
        Ok(self.calls.len() - 1)
    }
}

impl Call {
    /// Whether `fragment` begins another call although it bears this one's marks.
    fn is_followed_by(&self, fragment: &Fragment<'_>) -> bool {
        let has_arguments = !fragment.arguments.is_blank();
        if self.named_again && has_arguments {
            return true;
        }
        if fragment.name.is_empty() {
            return false;
        }
        let is_renamed =
            !self.name.is_empty() && !fragment.name.starts_with(self.name.as_str()) && fragment.name != self.name;
        if self.is_whole() {
            return is_renamed || (has_arguments && !self.is_repeated_by(fragment));
        }
        is_renamed && fragment.is_header && (fragment.id.is_empty() || self.wire_id.is_empty())
    }

    /// Some servers end a call by sending all of it once more.
    fn is_repeated_by(&self, fragment: &Fragment<'_>) -> bool {
        let same = match &fragment.arguments {
            Arguments::Absent => true,
            Arguments::Text(piece) => piece.is_exactly(&self.arguments),
            Arguments::Value(json) => *json == self.arguments,
        };
        same && !fragment.id.is_empty() && fragment.id == self.wire_id.as_str() && fragment.name == self.name.as_str()
    }

    fn is_whole(&self) -> bool {
        let arguments = self.arguments.trim();
        // The brackets first: parsing all of it for each fragment would be quadratic.
        !self.placeholder
            && arguments.starts_with('{')
            && arguments.ends_with('}')
            && serde_json::from_str::<IgnoredAny>(arguments).is_ok()
    }

    fn append(&mut self, fragment: Fragment<'_>) {
        if self.wire_id.is_empty() {
            self.wire_id = fragment.id.to_string();
        }
        self.slot = self.slot.or(fragment.slot);
        if !fragment.name.is_empty() {
            if self.name == fragment.name {
                if self.is_repeated_by(&fragment) && !fragment.arguments.is_blank() {
                    return;
                }
                self.named_again = fragment.arguments.is_blank() && self.is_whole();
            } else if self.name.is_empty() || fragment.name.starts_with(self.name.as_str()) {
                self.name = fragment.name.into_owned();
            } else {
                self.name.push_str(&fragment.name);
            }
        }
        match fragment.arguments {
            Arguments::Absent => {}
            Arguments::Text(piece) => {
                if self.placeholder && !piece.is_empty() {
                    self.placeholder = false;
                    self.arguments.clear();
                }
                let piece = self.joint.join(piece);
                self.arguments.push_str(&piece);
            }
            Arguments::Value(json) => {
                self.placeholder = json.trim_matches(['{', '}']).trim().is_empty();
                if !self.placeholder || self.arguments.trim().is_empty() {
                    json.clone_into(&mut self.arguments);
                }
            }
        }
    }

    fn end_text(&mut self) {
        self.arguments.extend(self.joint.flush());
    }

    fn so_far(&self) -> CallDelta {
        CallDelta { id: self.id.clone(), name: self.name.clone(), arguments: self.arguments.clone(), closed: false }
    }
}

impl<'a> Fragment<'a> {
    fn of(piece: &CallPiece<'a>, at: usize) -> Self {
        let function = piece.function.0.as_ref();
        let slot = piece.index.and_then(|index| index.get().trim_matches('"').parse().ok());
        Self {
            slot,
            id: text(piece.id),
            name: text(function.and_then(|function| function.name)),
            is_header: piece.id.is_some() || piece.kind.is_some(),
            is_next: at > 0 && slot.is_none(),
            arguments: Arguments::of(function.and_then(|function| function.arguments)),
        }
    }

    fn len(&self) -> usize {
        let arguments = match &self.arguments {
            Arguments::Absent => 0,
            Arguments::Text(piece) => piece.len(),
            Arguments::Value(json) => json.len(),
        };
        self.name.len() + arguments
    }
}

impl<'a> Arguments<'a> {
    fn of(raw: Raw<'a>) -> Self {
        match raw.map(|raw| raw.get()) {
            None => Self::Absent,
            Some(json) if json.starts_with('"') => Self::Text(Piece::of(json)),
            Some(json) => Self::Value(json),
        }
    }

    fn is_blank(&self) -> bool {
        match self {
            Self::Absent => true,
            Self::Text(piece) => piece.is_blank(),
            Self::Value(_) => false,
        }
    }
}

fn text(raw: Raw<'_>) -> Cow<'_, str> {
    raw.map_or(Cow::Borrowed(""), |raw| Piece::of(raw.get()).lossy())
}

fn minted_id() -> String {
    format!("call_{}", Uuid::now_v7().simple())
}
