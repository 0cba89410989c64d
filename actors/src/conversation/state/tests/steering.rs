//! A text that joins the turn that runs, at its next step.

use super::{queue::begun, *};
use crate::conversation::QueueChange;

#[test]
fn steering_joins_the_running_turn_at_its_next_step() {
    let mut desk = Desk::running();
    let ticket = desk.say_when_busy(2, "in brief", OnBusy::Steer);
    desk.settle(Ok(()));
    assert_eq!(desk.answer(ticket), Some(&begun(1, 2, 15)), "it belongs to the turn that runs");
    desk.end(1, " long", complete());
    desk.settle(Ok(()));
    assert_eq!(desk.terminal_frames(1), 0, "the turn goes on");
    assert_eq!(desk.prepared.last().unwrap(), &(TurnId(uuid(1)), 6, Question::Said("in brief".into())));
    desk.end(1, "short", complete());
    desk.settle(Ok(()));
    assert_eq!(desk.terminal_frames(1), 1);
    let texts: Vec<String> = desk.said().into_iter().map(|(text, _)| text).collect();
    assert_eq!(texts, ["hi", "so long", "in brief", "short"]);
    assert!(desk.plans.is_empty());
}

#[test]
fn each_text_that_steers_has_the_reply_that_its_sender_was_told_of() {
    let mut desk = Desk::running();
    for (n, text) in [(2, "in brief"), (3, "in French")] {
        let ticket = desk.say_when_busy(n, text, OnBusy::Steer);
        desk.settle(Ok(()));
        assert!(matches!(desk.answer(ticket), Some(Answer::Begun(Ok(begun))) if begun.message == reply(n)));
    }
    for said in [" long", "short", "bref"] {
        desk.end(1, said, complete());
        desk.settle(Ok(()));
    }
    let texts: Vec<String> = desk.said().into_iter().map(|(text, _)| text).collect();
    assert_eq!(texts, ["hi", "so long", "in brief", "short", "in French", "bref"]);
    let order: Vec<MessageId> = desk.transcript().entries().iter().map(|entry| entry.id).collect();
    assert_eq!(order[2..], [player(2), reply(2), player(3), reply(3)]);
    assert_eq!(desk.terminal_frames(1), 1);
    assert!(desk.state.is_idle());
}

#[test]
fn what_was_to_steer_a_turn_that_is_stopped_comes_first_when_the_queue_goes_on() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "later", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.say_when_busy(3, "steers", OnBusy::Steer);
    desk.settle(Ok(()));
    desk.end(1, "", Ending::Aborted);
    desk.settle(Ok(()));
    desk.resume();
    assert_eq!(desk.plans[0].1.message, player(3));
    desk.cast(Ok(()));
    desk.settle(Ok(()));
    assert_eq!(desk.state.running_turn(), Some(TurnId(uuid(3))), "as a turn of its own");
}

#[test]
fn stop_beats_steering() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "steers", OnBusy::Steer);
    desk.settle(Ok(()));
    desk.give(Event::AbortAsked { turn: Some(TurnId(uuid(1))), ticket: Ticket(60), now: at(1_000) });
    // The Provider was done before it heard of it.
    desk.end(1, "", complete());
    desk.settle(Ok(()));
    assert_eq!(desk.terminal_frames(1), 1);
    assert_eq!(desk.state.running_turn(), None);
    assert!(desk.plans.is_empty(), "it waits until somebody says that it may go on");
}

#[test]
fn a_stop_while_a_step_waits_for_the_store_is_not_forgotten() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "in brief", OnBusy::Steer);
    desk.settle(Ok(()));
    desk.end(1, "", complete());
    desk.settle(unavailable());
    desk.give(Event::AbortAsked { turn: Some(TurnId(uuid(1))), ticket: Ticket(60), now: at(1_000) });
    assert!(matches!(desk.answer(Ticket(60)), Some(Answer::Aborted(Err(_)))), "when it ends nobody knows");
    let before = desk.cancelled.len();
    desk.settle(Ok(()));
    assert_eq!(desk.cancelled[before..], [CancelReason::Abort], "the next step is stopped as soon as it begins");
}

#[test]
fn what_steers_belongs_to_the_turn_that_it_joins_and_to_its_own_once_that_has_ended() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "steers", OnBusy::Steer);
    desk.settle(Ok(()));
    let turn_of = |desk: &Desk| desk.transcript().entries().last().unwrap().turn_id;
    assert_eq!(turn_of(&desk), TurnId(uuid(1)));
    desk.end(1, "", Ending::Aborted);
    desk.settle(Ok(()));
    desk.change(QueueChange::Edit { message: player(2), text: "alone".into(), idempotency: None });
    desk.settle(Ok(()));
    assert_eq!(turn_of(&desk), TurnId(uuid(2)));
}

#[test]
fn what_steers_the_next_turn_does_not_wait_for_what_is_left_of_an_earlier_one() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "left", OnBusy::Steer);
    desk.settle(Ok(()));
    desk.end(1, "", Ending::Aborted);
    desk.settle(Ok(()));
    desk.say_when_busy(3, "now", OnBusy::Steer);
    desk.settle(Ok(()));
    desk.say_when_busy(4, "in brief", OnBusy::Steer);
    desk.settle(Ok(()));
    desk.end(3, "yes", complete());
    desk.settle(Ok(()));
    assert_eq!(desk.prepared.last().unwrap().2, Question::Said("in brief".into()));
    desk.end(3, "ok", complete());
    desk.settle(Ok(()));
    assert_eq!(desk.plans.last().unwrap().1.message, player(2));
}
