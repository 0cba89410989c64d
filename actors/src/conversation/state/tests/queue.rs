//! What waits while a turn runs: enqueue, interrupt, steer, and what becomes of them.

use super::*;
use crate::{
    conversation::{ChangeRefusal, QueueChange, event::Cast, event::Select, queue::QUEUE_LIMIT},
    vocabulary::{ErrorKind, MessageError},
};

impl Desk {
    /// Says something while a turn runs.
    pub fn say_when_busy(&mut self, n: u128, text: &str, on_busy: OnBusy) -> Ticket {
        self.on_busy = on_busy;
        let ticket = self.say(n, text);
        self.on_busy = OnBusy::Reject;
        ticket
    }

    pub fn cast(&mut self, outcome: Result<(), MessageError>) {
        let attempt = self.plans.last().unwrap().0;
        let cast = Cast {
            step_limit: 3,
            speaker: author("ada"),
            provider_name: "mock".into(),
            model: (ProviderId(uuid(9)), "m".into()),
            hop: Hop { count: 0, limit: 6 },
        };
        self.give(Event::Planned { attempt, outcome: outcome.map(|()| cast), now: at(self.now) });
    }

    pub fn change(&mut self, change: QueueChange) -> Ticket {
        let ticket = Ticket(7_000 + self.answers.len() as u64);
        self.give(Event::ChangeAsked { change, ticket, now: at(self.now) });
        ticket
    }

    pub fn resume(&mut self) -> Ticket {
        self.give(Event::ResumeAsked { ticket: Ticket(8_000) });
        Ticket(8_000)
    }

    pub fn answer(&self, ticket: Ticket) -> Option<&Answer> {
        self.answers.iter().find(|(to, _)| *to == ticket).map(|(_, answer)| answer)
    }

    /// Texts in the order of the transcript, each with its status.
    pub fn said(&self) -> Vec<(String, MessageStatus)> {
        let text = |parts: &[Part]| Body { parts: parts.to_vec(), ..Body::default() }.text();
        self.transcript().entries().iter().map(|entry| (text(&entry.parts), entry.status)).collect()
    }

    /// A turn that runs and has said "so".
    pub fn running() -> Self {
        let mut desk = Self::new();
        desk.say(1, "hi");
        desk.settle(Ok(()));
        desk.text(1, "so");
        desk.settle(Ok(()));
        desk
    }
}

fn no_key() -> MessageError {
    MessageError {
        code: ErrorCode::NoProviderKey,
        message: "no key".into(),
        kind: ErrorKind::Auth,
        provider: None,
        status: None,
        retryable: true,
    }
}

pub fn begun(turn: u128, n: u128, cursor: u64) -> Answer {
    Answer::Begun(Ok(Begun { turn: TurnId(uuid(turn)), message: reply(n), cursor }))
}

#[test]
fn a_text_that_waits_is_stored_and_seen_before_it_is_answered_for() {
    let mut desk = Desk::running();
    let ticket = desk.say_when_busy(2, "next", OnBusy::Enqueue);
    assert_eq!(desk.answer(ticket), None);
    assert_eq!(desk.said().len(), 2);
    desk.settle(Ok(()));
    assert_eq!(desk.answer(ticket), Some(&begun(2, 2, 15)));
    assert_eq!(desk.said().last(), Some(&("next".to_owned(), MessageStatus::Queued)));
}

#[test]
fn a_complete_turn_takes_up_what_waits_in_its_order() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "second", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.say_when_busy(3, "third", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.end(1, "", complete());
    assert!(desk.plans.is_empty(), "the end is not stored yet");
    desk.settle(Ok(()));
    assert_eq!(desk.plans[0].1.message, player(2));
    desk.cast(Ok(()));
    desk.settle(Ok(()));
    desk.end(2, "two", complete());
    desk.settle(Ok(()));
    assert_eq!(desk.plans[1].1.message, player(3));
    desk.cast(Ok(()));
    desk.settle(Ok(()));
    desk.end(3, "three", complete());
    desk.settle(Ok(()));
    let texts: Vec<String> = desk.said().into_iter().map(|(text, _)| text).collect();
    assert_eq!(texts, ["hi", "so", "second", "two", "third", "three"]);
    assert!(desk.said().iter().all(|(_, status)| *status == MessageStatus::Complete));
    assert_eq!((desk.terminal_frames(1), desk.terminal_frames(2), desk.terminal_frames(3)), (1, 1, 1));
    assert!(desk.state.is_idle());
}

#[test]
fn after_stop_or_failure_what_waits_waits_until_somebody_says_that_it_may_go_on() {
    for ending in [Ending::Aborted, Ending::Panicked] {
        let mut desk = Desk::running();
        desk.say_when_busy(2, "next", OnBusy::Enqueue);
        desk.settle(Ok(()));
        desk.end(1, "", ending);
        desk.settle(Ok(()));
        assert!(desk.plans.is_empty());
        assert!(desk.state.is_idle(), "an actor with a paused queue may sleep");
        let ticket = desk.resume();
        desk.cast(Ok(()));
        assert_eq!(desk.answer(ticket), None);
        desk.settle(Ok(()));
        assert!(matches!(desk.answer(ticket), Some(Answer::Begun(Ok(begun))) if begun.turn == TurnId(uuid(2))));
    }
}

#[test]
fn the_next_send_begins_at_once_and_what_waits_comes_behind_it() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "waits", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.end(1, "", Ending::Aborted);
    desk.settle(Ok(()));
    desk.say_when_busy(3, "now", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.end(3, "yes", complete());
    desk.settle(Ok(()));
    assert_eq!(desk.plans.len(), 1);
    desk.cast(Ok(()));
    desk.settle(Ok(()));
    let texts: Vec<String> = desk.said().into_iter().map(|(text, _)| text).collect();
    assert_eq!(texts, ["hi", "so", "now", "yes", "waits", ""]);
}

#[test]
fn a_text_that_comes_while_the_end_is_being_stored_need_not_wait() {
    let mut desk = Desk::running();
    desk.end(1, "", complete());
    let ticket = desk.say_when_busy(2, "next", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.settle(Ok(()));
    assert!(matches!(desk.answer(ticket), Some(Answer::Begun(Ok(_)))));
    assert_eq!(desk.state.running_turn(), Some(TurnId(uuid(2))));
}

#[test]
fn a_text_that_waits_can_be_edited_and_withdrawn_until_it_is_taken_up() {
    let mut desk = Desk::running();
    for n in [2, 3] {
        desk.say_when_busy(n, "waits", OnBusy::Enqueue);
        desk.settle(Ok(()));
    }
    let edited = desk.change(QueueChange::Edit { message: player(2), text: "reads so".into(), idempotency: None });
    desk.settle(Ok(()));
    assert_eq!(desk.answer(edited), Some(&Answer::Changed(Ok(()))));
    let gone = desk.change(QueueChange::Withdraw { message: player(3) });
    desk.settle(Ok(()));
    assert_eq!(desk.answer(gone), Some(&Answer::Changed(Ok(()))));
    assert_eq!(desk.terminal_frames(3), 1, "whoever watches that turn is told its end");
    assert_eq!(desk.said()[2..], [("reads so".to_owned(), MessageStatus::Queued)]);
    desk.end(1, "", complete());
    desk.settle(Ok(()));
    desk.cast(Ok(()));
    let late = desk.change(QueueChange::Edit { message: player(2), text: "too late".into(), idempotency: None });
    desk.settle(Ok(()));
    assert_eq!(desk.answer(late), Some(&Answer::Changed(Err(ChangeRefusal::NotQueued))));
    assert_eq!(desk.said()[2], ("reads so".to_owned(), MessageStatus::Complete));
}

#[test]
fn an_edit_while_someone_is_looked_for_is_what_is_answered() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "before", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.end(1, "", complete());
    desk.settle(Ok(()));
    desk.change(QueueChange::Edit { message: player(2), text: "after".into(), idempotency: None });
    desk.cast(Ok(()));
    desk.settle(Ok(()));
    assert_eq!(&*desk.plans[1].1.text, "after");
    desk.cast(Ok(()));
    desk.settle(Ok(()));
    assert_eq!(desk.said()[2], ("after".to_owned(), MessageStatus::Complete));
}

#[test]
fn what_is_withdrawn_while_someone_is_looked_for_is_not_said() {
    let mut desk = Desk::running();
    for n in [2, 3] {
        desk.say_when_busy(n, if n == 2 { "gone" } else { "next" }, OnBusy::Enqueue);
        desk.settle(Ok(()));
    }
    desk.end(1, "", complete());
    desk.settle(Ok(()));
    desk.change(QueueChange::Withdraw { message: player(2) });
    desk.settle(Ok(()));
    assert_eq!(desk.plans.last().unwrap().1.message, player(3));
    desk.cast(Ok(()));
    desk.settle(Ok(()));
    let texts: Vec<String> = desk.said().into_iter().map(|(text, _)| text).collect();
    assert_eq!(texts, ["hi", "so", "next", ""]);
}

#[test]
fn stop_by_the_turn_of_a_text_that_waits_withdraws_it() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "waits", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.give(Event::AbortAsked { turn: Some(TurnId(uuid(2))), ticket: Ticket(60), now: at(1_000) });
    desk.settle(Ok(()));
    let aborted = Aborted { aborted: true, turn: Some(TurnId(uuid(2))) };
    assert_eq!(desk.answer(Ticket(60)), Some(&Answer::Aborted(Ok(aborted))));
    assert_eq!(desk.cancelled, vec![], "what runs runs on");
}

#[test]
fn stop_stops_a_turn_whose_text_is_just_being_taken_up() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "next", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.end(1, "", complete());
    desk.settle(Ok(()));
    desk.cast(Ok(()));
    desk.give(Event::AbortAsked { turn: Some(TurnId(uuid(2))), ticket: Ticket(60), now: at(1_000) });
    desk.settle(Ok(()));
    assert!(desk.cancelled.contains(&CancelReason::Abort));
    desk.end(2, "", Ending::Aborted);
    desk.settle(Ok(()));
    let aborted = Aborted { aborted: true, turn: Some(TurnId(uuid(2))) };
    assert_eq!(desk.answer(Ticket(60)), Some(&Answer::Aborted(Ok(aborted))));
    assert_eq!(desk.status_of(2), Some(MessageStatus::Aborted));
}

#[test]
fn interrupt_keeps_the_partial_reply_and_then_begins() {
    let mut desk = Desk::running();
    let ticket = desk.say_when_busy(2, "no, this", OnBusy::Interrupt);
    assert_eq!(desk.cancelled, vec![CancelReason::Abort]);
    desk.end(1, " far", Ending::Aborted);
    desk.settle(Ok(()));
    assert_eq!(desk.answer(ticket), None, "it is not stored yet");
    desk.settle(Ok(()));
    assert!(matches!(desk.answer(ticket), Some(Answer::Begun(Ok(_)))));
    assert_eq!(desk.said()[1], ("so far".to_owned(), MessageStatus::Aborted));
    assert_eq!(desk.said()[2], ("no, this".to_owned(), MessageStatus::Complete));
}

#[test]
fn an_interrupt_behind_an_interrupt_waits_for_it() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "first", OnBusy::Interrupt);
    let second = desk.say_when_busy(3, "second", OnBusy::Interrupt);
    desk.settle(Ok(()));
    assert!(matches!(desk.answer(second), Some(Answer::Begun(Ok(_)))));
    desk.end(1, "", Ending::Aborted);
    desk.settle(Ok(()));
    desk.settle(Ok(()));
    assert_eq!(desk.state.running_turn(), Some(TurnId(uuid(2))));
    desk.end(2, "yes", complete());
    desk.settle(Ok(()));
    assert_eq!(desk.plans[0].1.message, player(3));
}

#[test]
fn an_interrupt_while_the_admission_is_being_stored_stops_that_turn() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    desk.say_when_busy(2, "no", OnBusy::Interrupt);
    desk.settle(Ok(()));
    assert!(desk.cancelled.contains(&CancelReason::Abort));
    desk.end(1, "", Ending::Aborted);
    desk.settle(Ok(()));
    desk.settle(Ok(()));
    assert_eq!(desk.state.running_turn(), Some(TurnId(uuid(2))));
}

#[test]
fn a_stop_that_comes_too_late_for_the_reply_still_pauses_what_waits() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "next", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.end(1, "", complete());
    desk.give(Event::AbortAsked { turn: Some(TurnId(uuid(1))), ticket: Ticket(60), now: at(1_000) });
    desk.settle(Ok(()));
    assert!(matches!(desk.answer(Ticket(60)), Some(Answer::Aborted(Ok(Aborted { aborted: false, .. })))));
    assert!(desk.plans.is_empty());
    assert!(desk.state.is_idle());
}

#[test]
fn those_who_wait_for_a_stop_are_told_when_the_store_does_not_come_back() {
    let mut desk = Desk::running();
    desk.give(Event::AbortAsked { turn: Some(TurnId(uuid(1))), ticket: Ticket(60), now: at(1_000) });
    desk.end(1, "", Ending::Aborted);
    desk.settle(unavailable());
    assert_eq!(desk.answer(Ticket(60)), None);
    desk.now += settling::STORE_PATIENCE_MS;
    desk.settle(unavailable());
    assert!(matches!(desk.answer(Ticket(60)), Some(Answer::Aborted(Err(_)))));
}

#[test]
fn a_text_that_nobody_can_answer_waits_on_and_says_why() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "next", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.end(1, "", complete());
    desk.settle(Ok(()));
    desk.cast(Err(no_key()));
    desk.settle(Ok(()));
    let transcript = desk.transcript();
    let waiting = transcript.entries().last().unwrap();
    assert_eq!((waiting.status, waiting.error.as_ref()), (MessageStatus::Queued, Some(&no_key())));
    let ticket = desk.resume();
    desk.cast(Err(no_key()));
    assert_eq!(desk.answer(ticket), Some(&Answer::Begun(Err(BeginRefusal::Unplanned(no_key())))));
    desk.settle(Ok(()));
    desk.resume();
    desk.cast(Ok(()));
    desk.settle(Ok(()));
    let transcript = desk.transcript();
    assert_eq!(transcript.entries()[2].error, None, "it is said now");
}

#[test]
fn a_text_that_nobody_can_answer_is_told_from_its_beginning() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "next", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.end(1, "", complete());
    desk.settle(Ok(()));
    let before = desk.shown.len();
    desk.cast(Err(no_key()));
    desk.settle(Ok(()));
    // Whoever was away when it was enqueued reads the store up to where the log begins, and then these.
    let mut away = Transcript::default();
    desk.shown[before..].iter().for_each(|(_, frame)| away.fold(frame.clone()));
    let [waiting] = away.entries() else { panic!("{away:?}") };
    assert_eq!(
        (waiting.id, waiting.status, waiting.error.as_ref()),
        (player(2), MessageStatus::Queued, Some(&no_key()))
    );
    assert_eq!(waiting.parts, vec![Part::text("next")]);
    let stored = desk.submitted.last().unwrap();
    let [Write::Explain { last_seq, .. }, ..] = stored.writes.as_slice() else { panic!("{stored:?}") };
    assert_eq!(desk.shown.last().map(|(seq, _)| *seq), Some(*last_seq));
}

#[test]
fn a_text_whose_turn_the_store_refuses_waits_on_and_whoever_watches_is_told() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "next", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.end(1, "", complete());
    desk.settle(Ok(()));
    desk.cast(Ok(()));
    desk.settle(unavailable());
    assert_eq!(desk.told, [ErrorCode::StoreUnavailable]);
    assert_eq!(desk.said().last(), Some(&("next".to_owned(), MessageStatus::Queued)));
    assert!(desk.state.is_idle(), "the queue is paused");
    let ticket = desk.resume();
    desk.cast(Ok(()));
    desk.settle(unavailable());
    assert!(matches!(desk.answer(ticket), Some(Answer::Begun(Err(BeginRefusal::Store(_))))));
    desk.say(3, "hello?");
    desk.settle(unavailable());
    assert_eq!(desk.told.len(), 2, "who sends is answered, and no tab is told of a text that it never saw");
}

#[test]
fn a_store_that_cannot_commit_refuses_the_change_and_keeps_the_queue() {
    let mut desk = Desk::running();
    let ticket = desk.say_when_busy(2, "next", OnBusy::Enqueue);
    desk.settle(unavailable());
    let error = JournalError::Unavailable("disk full".into());
    assert_eq!(desk.answer(ticket), Some(&Answer::Begun(Err(BeginRefusal::Store(error)))));
    desk.text(1, " far");
    desk.settle(Ok(()));
    assert_eq!(desk.text_of(1), "so far", "the turn goes on");
    assert_eq!(desk.said().len(), 2);
}

#[test]
fn so_many_texts_wait_and_no_more() {
    let mut desk = Desk::running();
    for n in 0..QUEUE_LIMIT as u128 {
        desk.say_when_busy(10 + n, "waits", OnBusy::Enqueue);
        desk.settle(Ok(()));
    }
    let ticket = desk.say_when_busy(99, "one too many", OnBusy::Enqueue);
    assert_eq!(desk.answer(ticket), Some(&Answer::Begun(Err(BeginRefusal::QueueFull))));
}

#[test]
fn stop_between_two_turns_keeps_the_next_one_from_beginning() {
    let mut desk = Desk::running();
    desk.say_when_busy(2, "next", OnBusy::Enqueue);
    desk.settle(Ok(()));
    desk.end(1, "", complete());
    desk.settle(Ok(()));
    desk.give(Event::AbortAsked { turn: None, ticket: Ticket(60), now: at(1_000) });
    assert!(matches!(desk.answer(Ticket(60)), Some(Answer::Aborted(Ok(Aborted { aborted: true, .. })))));
    desk.cast(Ok(()));
    assert_eq!(desk.state.running_turn(), None);
}

#[test]
fn what_waited_when_the_process_ended_waits_on() {
    let (mut state, _) = Conversation::waking(ConversationId(uuid(1)), Leftover::Interrupted);
    let item = Queued {
        message: player(2),
        turn: TurnId(uuid(2)),
        reply: reply(2),
        author: author("p"),
        text: "next".into(),
        client_id: None,
        to: None,
        steers: Some(TurnId(uuid(1))),
        position: 900,
        hop_limit: 6,
        created_at: at(1),
    };
    let claimed = Claimed { epoch: 3, last_seq: 10, next_position: 4, title: None, queue: vec![item] };
    assert_eq!(state.apply(Event::Claimed(Ok(claimed))), vec![Effect::Wake { last_seq: 10 }]);
    assert!(state.is_idle());
    assert!(matches!(state.apply(Event::ResumeAsked { ticket: Ticket(1) })[..], [Effect::Plan { .. }]));
}

#[test]
fn a_text_behind_a_regenerate_that_comes_too_late_need_not_wait_for_it() {
    let mut desk = Desk::running();
    desk.end(1, "", complete());
    desk.settle(Ok(()));
    let cursor = desk.shown.last().unwrap().0;
    let select = Select { as_of: cursor, leaving: Vec::new(), back: vec![(reply(7), vec![desk.shown[0].1.clone()])] };
    desk.give(Event::SelectAsked { select: Box::new(select), ticket: Ticket(70), now: at(1) });
    let stale = desk.regenerate(2, cursor, vec![reply(1)]);
    let ticket = desk.say_when_busy(3, "next", OnBusy::Enqueue);
    desk.settle(Ok(()));
    assert_eq!(desk.answer(stale), Some(&Answer::Begun(Err(BeginRefusal::Stale))));
    desk.settle(Ok(()));
    assert!(matches!(desk.answer(ticket), Some(Answer::Begun(Ok(begun))) if begun.turn == TurnId(uuid(3))));
    assert_eq!(desk.state.running_turn(), Some(TurnId(uuid(3))), "it runs, and waits for nobody");
}
