//! What it means that nothing of what a reader was shown is lost: pure rules over what was seen and what is stored.

use hamlet_actors::{
    conversation::queue::STEERING_POSITION,
    vocabulary::{Entry, MessageStatus, Part},
};

/// Texts that wait stand behind everything that was said.
const WAITING: i64 = STEERING_POSITION;

/// Whether what was seen of a Message is in what there is of it now.
///
/// # Errors
/// What is missing or different, in a sentence.
pub fn is_kept(seen: &Entry, stored: &Entry) -> Result<(), String> {
    let born = |entry: &Entry| (entry.id, entry.role, entry.author.clone(), entry.client_id.clone(), entry.created_at);
    if born(seen) != born(stored) {
        return Err(format!("began as {:?} and is now {:?}", born(seen), born(stored)));
    }
    if seen.position >= WAITING {
        // It may read otherwise since, and be in another turn: what a Player wanted is held against the book.
        return Ok(());
    }
    if seen.status != MessageStatus::Running {
        return if seen == stored { Ok(()) } else { Err(format!("had ended as {seen:?} and is now {stored:?}")) };
    }
    let place = |entry: &Entry| (entry.turn_id, entry.position, entry.hop);
    if place(seen) != place(stored) {
        return Err(format!("had its place in {:?} and has it now in {:?}", place(seen), place(stored)));
    }
    if seen.error.is_some() && seen.error != stored.error {
        return Err(format!("had the error {:?} and has now {:?}", seen.error, stored.error));
    }
    parts_are_kept(seen, &stored.parts)
}

/// Whether the Parts that were seen are the beginning of those that are stored: only the last one seen may have grown.
///
/// # Errors
/// Which Part is missing or different.
pub fn parts_are_kept(seen: &Entry, stored: &[Part]) -> Result<(), String> {
    if seen.position >= WAITING {
        return Ok(());
    }
    for (at, part) in seen.parts.iter().enumerate() {
        let kept = match (part, stored.get(at)) {
            (Part::Text { text: was }, Some(Part::Text { text: is }))
            | (Part::Reasoning { text: was, .. }, Some(Part::Reasoning { text: is, .. })) => {
                if at + 1 == seen.parts.len() { is.starts_with(was.as_str()) } else { is == was }
            }
            // A call goes on by replacement.
            (Part::ToolCall(was), Some(Part::ToolCall(is))) => {
                was.tool_call_id == is.tool_call_id && was.name == is.name
            }
            (was, is) => Some(was) == is,
        };
        if !kept {
            return Err(format!("was shown with {part:?} in place {at}, and has there {:?}", stored.get(at)));
        }
    }
    Ok(())
}

#[test]
fn what_was_shown_may_grow_at_its_end_and_nowhere_else() {
    let kept = |seen: &[&str], stored: &[&str]| {
        // A capital is text, anything else is a thought.
        let part = |text: &&str| {
            if text.starts_with(char::is_uppercase) { Part::text(*text) } else { Part::reasoning(*text) }
        };
        let parts = |texts: &[&str]| texts.iter().map(part).collect::<Vec<_>>();
        let seen = Entry { parts: parts(seen), ..running() };
        is_kept(&seen, &Entry { parts: parts(stored), status: MessageStatus::Interrupted, ..running() }).is_ok()
    };
    assert!(kept(&["One"], &["One two"]));
    assert!(kept(&["hm"], &["hm", "One"]));
    assert!(!kept(&["One two"], &["One"]), "text is missing");
    assert!(!kept(&["One"], &["Two"]), "the text is another");
    assert!(!kept(&["One", "hm"], &["One two", "hm"]), "text came before what was seen");
    assert!(!kept(&["One"], &["one"]), "the Part is of another kind");
    assert!(!kept(&["One"], &[]), "all is missing");
}

#[test]
fn what_had_ended_is_as_it_was() {
    let ended = Entry { status: MessageStatus::Complete, ..running() };
    assert!(is_kept(&ended, &ended).is_ok());
    assert!(is_kept(&ended, &Entry { status: MessageStatus::Interrupted, ..running() }).is_err());
}

#[cfg(test)]
fn running() -> Entry {
    serde_json::from_value(serde_json::json!({
        "id": "01890000-0000-7000-8000-000000000102", "turnId": "01890000-0000-7000-8000-000000000701", "role": "npc",
        "author": {"kind": "npc", "id": "ada", "name": "Ada"}, "position": 1, "status": "running", "parts": [],
        "finishReason": null, "usage": null, "error": null, "hop": {"count": 0, "limit": 6},
        "createdAt": "2026-03-01T12:00:00.000Z"
    }))
    .unwrap()
}
