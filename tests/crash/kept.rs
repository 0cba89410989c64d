//! What it means that nothing of what a reader was shown is lost: pure rules over what was seen and what is stored.

use hamlet_actors::vocabulary::{Entry, MessageStatus, Part};

/// Whether what was seen of a Message is in what there is of it now.
///
/// # Errors
/// What is missing or different, in a sentence.
pub fn is_kept(seen: &Entry, stored: &Entry) -> Result<(), String> {
    if seen.status != MessageStatus::Running {
        return if seen == stored { Ok(()) } else { Err(format!("had ended as {seen:?} and is now {stored:?}")) };
    }
    let head = |entry: &Entry| {
        (
            entry.id,
            entry.turn_id,
            entry.role,
            entry.author.clone(),
            entry.position,
            entry.hop,
            entry.client_id.clone(),
            entry.created_at,
        )
    };
    if head(seen) != head(stored) {
        return Err(format!("began as {:?} and is now {:?}", head(seen), head(stored)));
    }
    if seen.error.is_some() && seen.error != stored.error {
        return Err(format!("had the error {:?} and has now {:?}", seen.error, stored.error));
    }
    parts_are_kept(&seen.parts, &stored.parts)
}

/// Whether Parts that were seen are the beginning of those that are stored: only the last one seen may have grown.
///
/// # Errors
/// Which Part is missing or different.
pub fn parts_are_kept(seen: &[Part], stored: &[Part]) -> Result<(), String> {
    for (at, part) in seen.iter().enumerate() {
        let kept =
            match (part, stored.get(at)) {
                (Part::Text { text: was }, Some(Part::Text { text: is }))
                | (Part::Reasoning { text: was, .. }, Some(Part::Reasoning { text: is, .. })) => {
                    if at + 1 == seen.len() { is.starts_with(was.as_str()) } else { is == was }
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
        parts_are_kept(&parts(seen), &parts(stored)).is_ok()
    };
    assert!(kept(&["One"], &["One two"]));
    assert!(kept(&["hm"], &["hm", "One"]));
    assert!(!kept(&["One two"], &["One"]), "text is missing");
    assert!(!kept(&["One"], &["Two"]), "the text is another");
    assert!(!kept(&["One", "hm"], &["One two", "hm"]), "text came before what was seen");
    assert!(!kept(&["One"], &["one"]), "the Part is of another kind");
    assert!(!kept(&["One"], &[]), "all is missing");
}
