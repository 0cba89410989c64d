//! Edits of what was said, and variants.

use super::*;
use crate::conversation::event::Select;

#[test]
fn an_edit_of_what_was_said_begins_a_branch() {
    let mut desk = Desk::running();
    desk.end(1, "", complete());
    desk.settle(Ok(()));
    let cursor = desk.shown.last().unwrap().0;
    let intent = Intent::Edit {
        as_of: cursor,
        message: player(2),
        author: author("p"),
        text: "hello".into(),
        client_id: None,
        supersedes: vec![player(1), reply(1)],
        variant_of: player(1),
        first_position: 4,
    };
    desk.begin(2, intent);
    assert_eq!(desk.prepared.last().unwrap().1, 4, "the model is told what was said before it");
    desk.settle(Ok(()));
    desk.end(2, "hey", complete());
    desk.settle(Ok(()));
    let texts: Vec<String> = desk.said().into_iter().map(|(text, _)| text).collect();
    assert_eq!(texts, ["hello", "hey"]);
    let left = desk.submitted.iter().flat_map(|batch| &batch.writes).find_map(|write| match write {
        Write::Supersede { left } => Some(left.iter().map(|(id, _)| *id).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(left, Some(vec![player(1), reply(1)]));
}

#[test]
fn a_variant_comes_back_only_while_nothing_runs() {
    let mut desk = Desk::running();
    let select = |as_of| Select { as_of, leaving: Vec::new(), back: Vec::new() };
    desk.give(Event::SelectAsked { select: Box::new(select(15)), ticket: Ticket(70), now: at(1) });
    let busy = ChangeRefusal::Busy { running: TurnId(uuid(1)) };
    assert_eq!(desk.answer(Ticket(70)), Some(&Answer::Changed(Err(busy))));
    desk.end(1, "", complete());
    desk.settle(Ok(()));
    desk.give(Event::SelectAsked { select: Box::new(select(1)), ticket: Ticket(71), now: at(1) });
    assert_eq!(desk.answer(Ticket(71)), Some(&Answer::Changed(Err(ChangeRefusal::Stale))));
}
