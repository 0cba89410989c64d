//! A title that comes after the first exchange.

use super::*;
use crate::conversation::event::Shown;

impl Desk {
    /// The first exchange of a Conversation, as its end tells of it.
    fn first_exchange(&mut self) -> std::sync::Arc<Shown> {
        self.state.next_position = 0;
        self.say(1, "How do I bake bread?");
        self.settle(Ok(()));
        self.end(1, "Knead.", Ending::Provider(End::Complete(FinishReason::Stop)));
        self.settle(Ok(()));
        self.first.clone().unwrap()
    }
}

#[test]
fn the_last_message_is_shown_once_more_with_a_notice_and_the_title() {
    let mut desk = Desk::new();
    let shown = desk.first_exchange();
    assert_eq!(shown.finish.conversation.title.as_deref(), Some("How do I bake bread?"));
    desk.give(Event::Retitled { shown, title: "Baking bread".into(), now: at(desk.now) });
    assert_eq!(desk.parts(1), ["Knead."], "nothing is shown before it is stored");
    let writes = &desk.submitted.last().unwrap().writes;
    assert!(matches!(writes.as_slice(), [Write::Retitle { was: Some(was), .. }] if was == "How do I bake bread?"));
    desk.settle(Ok(()));
    assert_eq!(desk.state.title.as_deref(), Some("Baking bread"));
    let last = desk.transcript().entries().last().unwrap().clone();
    assert_eq!(last.parts.len(), 2);
    assert_eq!(last.status, MessageStatus::Complete);
}

#[test]
fn a_title_that_somebody_gave_meanwhile_stays() {
    let mut desk = Desk::new();
    let shown = desk.first_exchange();
    desk.give(Event::Renamed { title: Some("Mine".into()) });
    let before = desk.submitted.len();
    desk.give(Event::Retitled { shown, title: "Baking bread".into(), now: at(desk.now) });
    assert_eq!((desk.submitted.len(), desk.state.title.as_deref()), (before, Some("Mine")));
}

#[test]
fn a_later_exchange_is_no_first_one() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    desk.settle(Ok(()));
    desk.end(1, "Hello.", Ending::Provider(End::Complete(FinishReason::Stop)));
    desk.settle(Ok(()));
    assert!(desk.reflected == 1 && desk.first.is_none());
}
