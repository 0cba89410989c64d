//! A store that refuses, hangs or is another's.

use super::*;

#[test]
fn what_the_store_refuses_is_tried_again_under_the_same_numbers() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    desk.settle(Ok(()));
    desk.text(1, "one");
    desk.settle(unavailable());
    assert_eq!((desk.retries, desk.shown.len()), (1, 4));
    desk.give(Event::RetryDue);
    assert_eq!(desk.submitted[2], desk.submitted[1]);
    desk.settle(Ok(()));
    assert_eq!(desk.shown.last().map(|(seq, _)| *seq), Some(15));
    assert_eq!(desk.told, vec![]);
}

#[test]
fn a_store_that_says_nothing_stops_the_provider_and_what_it_had_is_kept_when_it_is_back() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    desk.settle(Ok(()));
    assert_eq!(desk.looks, [], "nobody looks after an admission");
    desk.text(1, "one");
    let patience = std::time::Duration::from_millis(settling::STORE_PATIENCE_MS.unsigned_abs());
    assert_eq!(desk.looks, [patience]);
    desk.settle(Ok(()));
    desk.now += 4_000;
    desk.text(1, " two");
    assert_eq!(desk.looks.len(), 1, "one look at a time");
    desk.now += 6_000;
    desk.give(Event::LookDue { now: at(desk.now) });
    assert_eq!((desk.cancelled.len(), desk.looks[1]), (0, std::time::Duration::from_secs(4)), "it has had it for 6 s");
    let stop = Ticket(60);
    desk.give(Event::AbortAsked { turn: None, ticket: stop, now: at(desk.now) });
    desk.now += 4_000;
    desk.cancelled.clear();
    desk.give(Event::LookDue { now: at(desk.now) });
    assert_eq!(desk.cancelled, [CancelReason::StoreUnavailable]);
    assert_eq!((desk.told.as_slice(), desk.looks.len()), (&[ErrorCode::StoreUnavailable][..], 2));
    assert!(matches!(desk.answers.last(), Some((to, Answer::Aborted(Err(_)))) if *to == stop));
    let refused = desk.say(2, "hello?");
    assert!(
        matches!(desk.answers.last(), Some((ticket, Answer::Begun(Err(BeginRefusal::Store(_))))) if *ticket == refused)
    );
    desk.end(1, " three", Ending::StoreUnavailable);
    desk.settle(Ok(()));
    desk.settle(Ok(()));
    assert_eq!((desk.text_of(1).as_str(), desk.status_of(1)), ("one two three", Some(MessageStatus::Failed)));
    assert!(desk.state.is_idle());
    desk.say(3, "again");
    desk.settle(Ok(()));
    assert_eq!(desk.state.running_turn(), Some(TurnId(uuid(3))));
}

#[test]
fn a_store_that_stays_away_stops_the_provider_and_is_told_and_nothing_is_lost() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    desk.settle(Ok(()));
    desk.text(1, "one");
    desk.settle(unavailable());
    desk.now += settling::STORE_PATIENCE_MS;
    desk.give(Event::RetryDue);
    desk.settle(unavailable());
    assert_eq!(desk.cancelled, vec![CancelReason::StoreUnavailable]);
    assert_eq!(desk.told, vec![ErrorCode::StoreUnavailable]);
    let refused = desk.say(2, "hello?");
    assert!(
        matches!(desk.answers.last(), Some((ticket, Answer::Begun(Err(BeginRefusal::Store(_))))) if *ticket == refused)
    );
    desk.end(1, " two", Ending::StoreUnavailable);
    desk.give(Event::RetryDue);
    desk.settle(Ok(()));
    desk.settle(Ok(()));
    assert_eq!((desk.text_of(1).as_str(), desk.status_of(1)), ("one two", Some(MessageStatus::Failed)));
    assert_eq!(desk.terminal_frames(1), 1);
    assert!(desk.state.is_idle());
}

#[test]
fn an_admission_that_cannot_commit_is_refused_and_leaves_nothing() {
    let mut desk = Desk::new();
    let ticket = desk.say(1, "hi");
    desk.settle(unavailable());
    assert!(matches!(desk.answers.last(), Some((t, Answer::Begun(Err(BeginRefusal::Store(_))))) if *t == ticket));
    assert!(desk.state.is_idle() && desk.shown.is_empty());
    desk.say(2, "again");
    assert_eq!(desk.submitted[1].last_seq, desk.submitted[0].last_seq, "the numbers are used again");
}

#[test]
fn a_fenced_instance_quits() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    desk.settle(Ok(()));
    desk.text(1, "one");
    desk.settle(Err(JournalError::Fenced));
    assert_eq!(desk.quit, Some(JournalError::Fenced));
}

#[test]
fn a_fenced_instance_answers_nobody_so_that_who_waits_asks_the_one_in_its_place() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    desk.give(Event::AbortAsked { turn: None, ticket: Ticket(70), now: at(1) });
    desk.settle(Err(JournalError::Fenced));
    assert_eq!((desk.answers, desk.quit), (Vec::new(), Some(JournalError::Fenced)));
}

#[test]
fn who_stops_a_turn_that_the_store_will_never_take_is_told_that_nothing_was_stopped() {
    let mut desk = Desk::new();
    let saying = desk.say(1, "hi");
    let stopping = Ticket(70);
    desk.give(Event::AbortAsked { turn: None, ticket: stopping, now: at(1) });
    let refused = JournalError::Refused("the key is taken".into());
    desk.settle(Err(refused.clone()));
    assert_eq!(desk.answer(saying), Some(&Answer::Begun(Err(BeginRefusal::Store(refused)))));
    let nothing = Aborted { aborted: false, turn: Some(TurnId(uuid(1))) };
    assert_eq!(desk.answer(stopping), Some(&Answer::Aborted(Ok(nothing))));
    assert_eq!((desk.state.running_turn(), desk.quit), (None, None));
}
