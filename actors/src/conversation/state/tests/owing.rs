//! An instance fails between a commit and its answer, and whoever waits asks its successor for the same.

use super::*;
use crate::conversation::{ChangeRefusal, QueueChange};

impl Desk {
    /// The next instance, which finds this one's last batch stored; what is asked of it before its claim is answered.
    fn after_a_failure(self, asked: impl FnOnce(&mut Self)) -> Self {
        let (state, _) = Conversation::waking(ConversationId(uuid(1)), Leftover::Failed);
        let last_seq = self.submitted.last().map_or(10, |batch| batch.last_seq);
        let (owed, queue) = (self.owed.clone(), self.state.queue.iter().cloned().collect());
        let mut next = Self { state, submitted: Vec::new(), answers: Vec::new(), ..self };
        asked(&mut next);
        next.give(Event::Owed(owed));
        next.give(Event::Claimed(Ok(Claimed { epoch: 4, last_seq, next_position: 6, title: None, queue })));
        next
    }
}

#[test]
fn a_send_that_was_stored_is_not_said_twice() {
    let mut desk = Desk::new();
    let ticket = desk.say(1, "hi");
    let begun = Answer::Begun(Ok(Begun { turn: TurnId(uuid(1)), message: reply(1), cursor: 10 }));
    assert_eq!(desk.owed, [(ticket, begun.clone())]);
    let desk = desk.after_a_failure(|next| {
        next.say(1, "hi");
    });
    assert_eq!(desk.answers, [(ticket, begun)]);
    assert!(desk.submitted.is_empty() && desk.state.is_idle());
}

#[test]
fn a_text_that_was_stored_to_wait_does_not_wait_twice() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    desk.settle(Ok(()));
    desk.on_busy = OnBusy::Enqueue;
    let ticket = desk.say(2, "next");
    let mut desk = desk.after_a_failure(|_| {});
    desk.say(2, "next");
    assert!(
        matches!(&desk.answers[..], [(to, Answer::Begun(Ok(begun)))] if *to == ticket && begun.message == reply(2))
    );
    assert!(desk.submitted.is_empty());
}

#[test]
fn who_withdrew_a_text_is_told_so_and_another_one_that_it_does_not_wait_any_more() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    desk.settle(Ok(()));
    desk.on_busy = OnBusy::Enqueue;
    desk.say(2, "next");
    desk.settle(Ok(()));
    let withdraw = |ticket| Event::ChangeAsked {
        change: QueueChange::Withdraw { message: MessageId(uuid(200)) },
        ticket: Ticket(ticket),
        now: at(1_000),
    };
    desk.give(withdraw(50));
    desk.state.queue.clear();
    let mut desk = desk.after_a_failure(|_| {});
    desk.give(withdraw(51));
    desk.give(withdraw(50));
    desk.give(withdraw(50));
    let gone = Answer::Changed(Err(ChangeRefusal::NotQueued));
    let told = [(Ticket(51), gone.clone()), (Ticket(50), Answer::Changed(Ok(()))), (Ticket(50), gone)];
    assert_eq!(desk.answers, told, "once");
}

#[test]
fn a_queue_that_was_let_go_on_does_not_go_on_by_one_more() {
    let mut desk = Desk::new();
    desk.give(Event::ResumeAsked { ticket: Ticket(50) });
    assert_eq!(desk.owed, [], "nothing waits");
    desk.say(1, "hi");
    desk.give(Event::AbortAsked { turn: None, ticket: Ticket(60), now: at(1_000) });
    desk.settle(Ok(()));
    desk.end(1, "", Ending::Aborted);
    let aborted = Answer::Aborted(Ok(Aborted { aborted: true, turn: Some(TurnId(uuid(1))) }));
    assert_eq!(desk.owed, [(Ticket(60), aborted.clone())]);
    let mut desk = desk.after_a_failure(|_| {});
    desk.give(Event::AbortAsked { turn: Some(TurnId(uuid(1))), ticket: Ticket(60), now: at(1_000) });
    assert_eq!(desk.answers, [(Ticket(60), aborted)], "it was this request that stopped it");
}
