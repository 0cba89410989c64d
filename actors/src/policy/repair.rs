//! Builds what is sent to a model from stored history, whatever is in there: no bad item of the past makes the next
//! request fail (promise 10).

use std::sync::Arc;

use super::{attribution::attributed, window::Said};
use crate::{
    ports::RequestItem,
    vocabulary::{NpcId, Role},
};

/// The request's history, oldest first. Blank replies (stopped before the first word, thoughts only) are left out;
/// neighbours of one role become one item, since many models insist on alternation; the end is always the Player.
pub fn request_items(
    history: &[Arc<Said>],
    question: Option<&Arc<str>>,
    speaker: NpcId,
    in_party: bool,
) -> Vec<RequestItem> {
    let mut items: Vec<RequestItem> = Vec::with_capacity(history.len() + 1);
    for said in history {
        // A colleague's words reach the speaker as something it was told, not as something it said.
        let own = said.role == Role::Npc && (!in_party || said.author.id == speaker.to_string());
        push(&mut items, own, attributed(said, speaker, in_party));
    }
    if let Some(question) = question {
        push(&mut items, false, Arc::clone(question));
    }
    while matches!(items.last(), Some(RequestItem::Assistant { .. })) {
        items.pop();
    }
    items
}

fn push(items: &mut Vec<RequestItem>, own: bool, text: Arc<str>) {
    if text.trim().is_empty() {
        return;
    }
    match (items.last_mut(), own) {
        (Some(RequestItem::Assistant { text: before, .. }), true)
        | (Some(RequestItem::User { text: before }), false) => {
            *before = format!("{before}\n\n{text}").into();
        }
        (_, true) => items.push(RequestItem::Assistant { text, reasoning: None, calls: Vec::new() }),
        (_, false) => items.push(RequestItem::User { text }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{Author, AuthorKind, MessageId};
    use uuid::Uuid;

    const ADA: NpcId = NpcId(Uuid::from_u128(1));
    const BO: NpcId = NpcId(Uuid::from_u128(2));

    fn player(text: &str) -> Arc<Said> {
        let author = Author { kind: AuthorKind::Player, id: "p".into(), name: "Pia".into() };
        Arc::new(Said::new(MessageId(Uuid::nil()), 0, Role::Player, author, text))
    }

    fn npc(id: NpcId, name: &str, text: &str) -> Arc<Said> {
        let author = Author { kind: AuthorKind::Npc, id: id.to_string(), name: name.into() };
        Arc::new(Said::new(MessageId(Uuid::nil()), 0, Role::Npc, author, text))
    }

    fn check(history: &[Arc<Said>], in_party: bool, expected: &[(&str, &str)]) {
        let items = request_items(history, None, ADA, in_party);
        let seen: Vec<(&str, &str)> = items
            .iter()
            .map(|item| match item {
                RequestItem::User { text } => ("user", &**text),
                RequestItem::Assistant { text, .. } => ("assistant", &**text),
                RequestItem::ToolResult { output, .. } => ("tool", output.as_str()),
            })
            .collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn promise_15_a_solo_history_is_byte_identical_to_what_was_said() {
        let history = [player(" hi\n"), npc(ADA, "Ada", "[Bo]: odd"), player("so?")];
        check(&history, false, &[("user", " hi\n"), ("assistant", "[Bo]: odd"), ("user", "so?")]);
    }

    #[test]
    fn in_a_party_a_colleague_is_named_and_the_speaker_is_not() {
        let history = [player("hi"), npc(ADA, "Ada", "mine"), npc(BO, "Bo", "theirs"), player("so?")];
        check(&history, true, &[("user", "hi"), ("assistant", "mine"), ("user", "[Bo]: theirs\n\nso?")]);
    }

    #[test]
    fn promise_10_a_blank_reply_is_left_out_and_neighbours_become_one() {
        let history = [player("one"), npc(ADA, "Ada", " \n"), player("two")];
        check(&history, false, &[("user", "one\n\ntwo")]);
    }

    #[test]
    fn a_request_never_ends_on_a_reply() {
        check(&[player("one"), npc(ADA, "Ada", "done")], false, &[("user", "one")]);
    }
}
