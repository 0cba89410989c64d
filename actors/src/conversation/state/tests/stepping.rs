//! Calls: marked, run, answered, and the next step; decisions about them; what Stop and limits do in between.

use serde_json::{Value, json};

use super::*;
use crate::{
    policy::calls::{Judged, Ruling},
    vocabulary::{CallDelta, CallState, ToolResult, Usage},
};

pub fn called(id: &str, name: &str) -> Delta {
    Delta::Call(CallDelta { id: id.into(), name: name.into(), arguments: r#"{"a":1}"#.into(), closed: true })
}

pub fn ruling(id: &str, ruling: Ruling) -> Judged {
    Judged { call_id: id.into(), ruling }
}

pub fn result(id: &str, name: &str, output: &str) -> Delta {
    Delta::Part(Part::ToolResult(ToolResult {
        tool_call_id: id.into(),
        name: name.into(),
        output: output.into(),
        is_error: false,
        elapsed_ms: 1,
        truncated: false,
        parent_tool_call_id: None,
    }))
}

impl Desk {
    pub fn over(&mut self, n: u128, tail: Vec<Delta>, ending: Ending) {
        let turn = TurnId(uuid(n));
        self.give(Event::TurnEnded { turn, tail, usage: None, ending, pass: None, now: at(self.now) });
    }

    /// An answer that ended with these calls.
    pub fn answer_with(&mut self, n: u128, text: &str, calls: &[(&str, Ruling)]) {
        let mut tail = vec![Delta::Text(text.into())];
        tail.extend(calls.iter().map(|(id, _)| called(id, "look")));
        let judged = calls.iter().map(|(id, ruled)| ruling(id, ruled.clone())).collect();
        self.over(n, tail, Ending::Calls(FinishReason::ToolCalls, judged));
    }

    /// The reply's Parts, each in a word or two.
    pub fn parts(&self, n: u128) -> Vec<String> {
        let transcript = self.transcript();
        let entry = transcript.entries().iter().find(|entry| entry.id == reply(n)).unwrap().clone();
        let word = |part: &Part| match part {
            Part::Text { text } => text.clone(),
            Part::ToolCall(call) => format!("{}:{:?}", call.tool_call_id, call.state).to_lowercase(),
            Part::ToolResult(result) => match &result.output {
                Value::String(text) => format!("{}={text}", result.tool_call_id),
                other => format!("{}={other}", result.tool_call_id),
            },
            other => format!("{other:?}"),
        };
        entry.parts.iter().map(word).collect()
    }

    /// A turn that runs and has said nothing yet.
    pub fn asked() -> Self {
        let mut desk = Self::new();
        desk.say(1, "hi");
        desk.settle(Ok(()));
        desk
    }

    fn stop(&mut self) -> Ticket {
        let ticket = Ticket(90);
        self.give(Event::AbortAsked { turn: None, ticket, now: at(self.now) });
        ticket
    }

    fn decide(&mut self, call: &str, decision: Decision) -> Ticket {
        let ticket = Ticket(91);
        self.give(Event::DecisionAsked { call: call.into(), decision, ticket, now: at(self.now) });
        ticket
    }

    fn answered(&self, ticket: Ticket) -> Option<&Answer> {
        self.answers.iter().rev().find(|(to, _)| *to == ticket).map(|(_, answer)| answer)
    }
}

const APPROVED: Decision = Decision::Approve { input: None };

#[test]
fn no_tool_starts_before_its_call_is_committed_as_running() {
    let mut desk = Desk::asked();
    desk.answer_with(1, "Let me look.", &[("a", Ruling::Run), ("b", Ruling::Run)]);
    assert_eq!((desk.ran.len(), desk.parts(1)), (0, vec![]), "nothing is shown or run before the commit");
    desk.settle(Ok(()));
    assert_eq!(desk.parts(1), ["Let me look.", "a:running", "b:running"]);
    let ran: Vec<&str> = desk.ran[0].iter().map(|call| call.tool_call_id.as_str()).collect();
    assert_eq!(ran, ["a", "b"]);
    assert_eq!(desk.ran[0][0].input, json!({"a": 1}));
}

#[test]
fn no_step_follows_before_the_results_are_committed() {
    let mut desk = Desk::asked();
    desk.answer_with(1, "Look.", &[("a", Ruling::Run)]);
    desk.settle(Ok(()));
    desk.over(1, vec![result("a", "look", "42")], Ending::Called);
    assert_eq!(desk.prepared.len(), 1);
    desk.settle(Ok(()));
    assert_eq!(desk.prepared[1], (TurnId(uuid(1)), 5, Question::InHistory));
    let progress = &desk.progress[1];
    assert_eq!((progress.step, progress.said.as_ref().unwrap().parts.len()), (2, 3));
    desk.end(1, "It is 42.", Ending::Provider(End::Complete(FinishReason::Stop)));
    desk.settle(Ok(()));
    assert_eq!(desk.parts(1), ["Look.", "a:running", "a=42", "It is 42."]);
    assert_eq!(desk.transcript().entries().last().unwrap().status, MessageStatus::Complete);
}

#[test]
fn results_that_came_before_are_committed_one_by_one_and_the_last_step_needs_no_commit_of_its_own() {
    let mut desk = Desk::asked();
    desk.answer_with(1, "", &[("a", Ruling::Run)]);
    desk.settle(Ok(()));
    let deltas = vec![result("a", "look", "42")];
    desk.give(Event::DeltasArrived { turn: TurnId(uuid(1)), deltas, now: at(desk.now) });
    desk.settle(Ok(()));
    assert_eq!(desk.taken, 1);
    desk.over(1, vec![], Ending::Called);
    assert_eq!(desk.prepared.len(), 2);
}

#[test]
fn a_refused_call_gets_its_result_with_the_marks_and_leads_to_the_next_step_by_itself() {
    let mut desk = Desk::asked();
    desk.answer_with(1, "", &[("a", Ruling::Misfit("not run: no".into()))]);
    desk.settle(Ok(()));
    assert_eq!(desk.parts(1), ["a:done", "a=not run: no"]);
    assert_eq!((desk.ran.len(), desk.prepared.len()), (0, 2));
    assert_eq!(desk.progress[1].misfits, ["look"]);
}

#[test]
fn promise_14_a_speaker_that_has_taken_all_its_steps_is_ended_with_an_error() {
    let mut desk = Desk::asked();
    for id in ["a", "b"] {
        desk.answer_with(1, "", &[(id, Ruling::Run)]);
        desk.settle(Ok(()));
        desk.over(1, vec![result(id, "look", "42")], Ending::Called);
        desk.settle(Ok(()));
    }
    assert_eq!(desk.progress.last().unwrap().step, 3);
    desk.over(1, vec![called("z", "look")], Ending::Calls(FinishReason::ToolCalls, vec![ruling("z", Ruling::Run)]));
    desk.settle(Ok(()));
    let last = desk.transcript().entries().last().unwrap().clone();
    assert_eq!((last.status, last.error.unwrap().code), (MessageStatus::Failed, ErrorCode::StepLimit));
    assert_eq!(desk.parts(1).last().unwrap(), "z=not run: the step limit is reached");
    assert!(desk.state.is_idle());
}

#[test]
fn stop_while_the_marks_are_being_stored_runs_nothing() {
    let mut desk = Desk::asked();
    desk.answer_with(1, "", &[("a", Ruling::Run)]);
    let stop = desk.stop();
    desk.settle(Ok(()));
    // The task that runs the calls is cancelled at once, and reports that.
    assert_eq!(desk.cancelled.len(), 2);
    desk.over(1, vec![], Ending::Aborted);
    desk.settle(Ok(()));
    assert_eq!(desk.parts(1).last().unwrap(), "a=stopped while it ran: whether it took effect is not known");
    assert!(matches!(desk.answered(stop), Some(Answer::Aborted(Ok(Aborted { aborted: true, .. })))));
}

#[test]
fn stop_that_comes_when_all_calls_have_ended_takes_no_further_step() {
    let mut desk = Desk::asked();
    desk.answer_with(1, "", &[("a", Ruling::Run)]);
    desk.settle(Ok(()));
    desk.stop();
    desk.over(1, vec![result("a", "look", "42")], Ending::Called);
    desk.settle(Ok(()));
    assert_eq!(desk.transcript().entries().last().unwrap().status, MessageStatus::Aborted);
    assert_eq!((desk.prepared.len(), desk.state.is_idle()), (1, true));
}

#[test]
fn a_text_that_steers_is_said_between_two_steps() {
    let mut desk = Desk::asked();
    desk.answer_with(1, "Look.", &[("a", Ruling::Run)]);
    desk.settle(Ok(()));
    desk.on_busy = OnBusy::Steer;
    desk.say(2, "in brief");
    desk.settle(Ok(()));
    desk.over(1, vec![result("a", "look", "42")], Ending::Called);
    desk.settle(Ok(()));
    assert_eq!(desk.parts(1), ["Look.", "a:running", "a=42"]);
    assert_eq!(desk.prepared.last().unwrap().2, Question::Said("in brief".into()));
    assert_eq!(desk.progress.last().unwrap().said, None);
}

#[test]
fn a_text_that_steers_is_said_behind_calls_that_were_all_refused() {
    let mut desk = Desk::asked();
    desk.on_busy = OnBusy::Steer;
    desk.say(2, "in brief");
    desk.settle(Ok(()));
    desk.answer_with(1, "", &[("a", Ruling::Refuse("not run".into()))]);
    desk.settle(Ok(()));
    desk.settle(Ok(()));
    assert_eq!(desk.prepared.last().unwrap().2, Question::Said("in brief".into()));
}

#[test]
fn stop_behind_calls_that_were_all_refused_takes_no_further_step() {
    let mut desk = Desk::asked();
    desk.answer_with(1, "", &[("a", Ruling::Refuse("not run".into()))]);
    desk.stop();
    desk.settle(Ok(()));
    desk.settle(Ok(()));
    assert_eq!(desk.transcript().entries().last().unwrap().status, MessageStatus::Aborted);
    assert_eq!((desk.prepared.len(), desk.state.is_idle()), (1, true));
}

#[test]
fn a_call_that_needs_a_yes_runs_once_that_is_committed() {
    let mut desk = Desk::asked();
    desk.answer_with(1, "", &[("a", Ruling::Ask)]);
    desk.settle(Ok(()));
    assert_eq!(desk.parts(1), ["a:awaitingapproval"]);
    let ticket = desk.decide("a", APPROVED);
    assert_eq!((desk.decided.len(), desk.answered(ticket)), (0, None));
    desk.settle(Ok(()));
    assert_eq!(desk.parts(1), ["a:running"]);
    assert_eq!(desk.decided, [("a".to_owned(), APPROVED)]);
    assert_eq!(desk.answered(ticket), Some(&Answer::Changed(Ok(()))));
}

#[test]
fn a_call_that_is_denied_has_its_result_and_a_second_word_comes_too_late() {
    let mut desk = Desk::asked();
    desk.answer_with(1, "", &[("a", Ruling::Ask)]);
    desk.settle(Ok(()));
    desk.decide("a", Decision::Deny);
    let late = desk.decide("a", APPROVED);
    assert_eq!(desk.answered(late), Some(&Answer::Changed(Err(ChangeRefusal::NotAwaiting))));
    desk.settle(Ok(()));
    assert_eq!(desk.parts(1), ["a:done", "a=not run: the Player said no"]);
    desk.over(1, vec![], Ending::Called);
    assert_eq!(desk.prepared.len(), 2);
}

#[test]
fn a_word_for_a_call_that_does_not_wait_is_refused() {
    let mut desk = Desk::new();
    let refused = Some(Answer::Changed(Err(ChangeRefusal::NotAwaiting)));
    let early = desk.decide("a", APPROVED);
    assert_eq!(desk.answered(early), refused.as_ref());
    desk.say(1, "hi");
    desk.settle(Ok(()));
    desk.answer_with(1, "", &[("a", Ruling::Run)]);
    desk.settle(Ok(()));
    for call in ["a", "b", ""] {
        desk.answers.clear();
        let ticket = desk.decide(call, APPROVED);
        assert_eq!(desk.answered(ticket), refused.as_ref(), "{call}");
    }
}

#[test]
fn a_word_that_comes_when_the_call_has_expired_changes_nothing() {
    let mut desk = Desk::asked();
    desk.answer_with(1, "", &[("a", Ruling::Ask)]);
    desk.settle(Ok(()));
    // The expiry is reported while another batch is in flight: it is not placed yet.
    desk.on_busy = OnBusy::Enqueue;
    desk.say(2, "later");
    let turn = TurnId(uuid(1));
    let call = ToolCall { state: CallState::Done, ..desk.ran[0][0].clone() };
    let deltas = vec![Delta::Part(Part::ToolCall(call)), result("a", "look", "not run: nobody said yes in time")];
    desk.give(Event::DeltasArrived { turn, deltas, now: at(desk.now) });
    let ticket = desk.decide("a", APPROVED);
    assert_eq!(desk.answered(ticket), Some(&Answer::Changed(Err(ChangeRefusal::NotAwaiting))));
}

#[test]
fn what_was_reported_of_several_answers_is_one_usage() {
    let mut desk = Desk::asked();
    let usage = |input, output| Some(Usage { input_tokens: Some(input), output_tokens: output, ..Usage::default() });
    let turn = TurnId(uuid(1));
    let judged = vec![ruling("a", Ruling::Run)];
    let ending = Ending::Calls(FinishReason::ToolCalls, judged);
    desk.give(Event::TurnEnded {
        turn,
        tail: vec![called("a", "look")],
        usage: usage(10, Some(1)),
        ending,
        pass: None,
        now: at(1),
    });
    desk.settle(Ok(()));
    desk.over(1, vec![result("a", "look", "42")], Ending::Called);
    desk.settle(Ok(()));
    let ending = Ending::Provider(End::Complete(FinishReason::Stop));
    let tail = vec![Delta::Text("so".into())];
    desk.give(Event::TurnEnded { turn, tail, usage: usage(20, None), ending, pass: None, now: at(1) });
    desk.settle(Ok(()));
    assert_eq!(desk.transcript().entries().last().unwrap().usage, usage(30, Some(1)));
}

#[test]
fn a_store_that_refuses_the_marks_runs_nothing_before_it_takes_them() {
    let mut desk = Desk::asked();
    desk.answer_with(1, "", &[("a", Ruling::Run)]);
    desk.settle(Err(JournalError::Unavailable("full".into())));
    assert_eq!((desk.ran.len(), desk.retries), (0, 1));
    desk.give(Event::RetryDue);
    desk.settle(Ok(()));
    assert_eq!(desk.ran.len(), 1);
}
