//! One NPC hands over to another within a turn.

use serde_json::json;

use super::{
    stepping::{called, ruling},
    *,
};
use crate::{
    conversation::event::{Cast, Pass},
    policy::{calls::Ruling, outcome::internal},
    vocabulary::NpcId,
};

fn bo() -> NpcId {
    NpcId(uuid(0xb0))
}

fn cast() -> Cast {
    Cast {
        speaker: Author { kind: AuthorKind::Npc, id: bo().to_string(), name: "Bo".into() },
        provider_name: "other".into(),
        model: (ProviderId(uuid(8)), "n".into()),
        hop: Hop { count: 0, limit: 6 },
        step_limit: 2,
    }
}

fn pass(cast: Result<Cast, crate::vocabulary::MessageError>) -> Pass {
    Pass { call: Some("c".into()), to: bo(), to_name: "Bo".into(), message: "weigh it".into(), reply: reply(2), cast }
}

impl Desk {
    fn hands_over(&mut self, n: u128, pass: Pass) {
        let tail = vec![Delta::Text("Over to Bo.".into()), called("c", "message_npc")];
        self.over(n, tail, Ending::Calls(FinishReason::ToolCalls, vec![ruling("c", Ruling::Run)]));
        self.settle(Ok(()));
        let ending = Ending::Called;
        let pass = Some(Box::new(pass));
        self.give(Event::TurnEnded {
            turn: TurnId(uuid(n)),
            tail: vec![],
            usage: None,
            ending,
            pass,
            now: at(self.now),
        });
    }

    fn set_hops(&mut self, count: u32) {
        self.state.turn.as_mut().unwrap().hop.count = count;
    }
}

#[test]
fn promise_8_the_end_of_one_part_and_the_beginning_of_the_next_are_one_transaction() {
    let mut desk = Desk::asked();
    desk.hands_over(1, pass(Ok(cast())));
    let writes = &desk.submitted.last().unwrap().writes;
    let names: Vec<&str> = writes
        .iter()
        .map(|write| match write {
            Write::Pieces { .. } => "pieces",
            Write::Finish(finished) if !finished.terminal => "finish",
            Write::Insert(next) if next.status == MessageStatus::Running => "insert",
            Write::Touch { .. } => "touch",
            _ => "?",
        })
        .collect();
    assert_eq!(names, ["pieces", "finish", "insert", "touch"]);
    assert_eq!(desk.prepared.len(), 1, "nothing is asked before that is committed");
    desk.settle(Ok(()));
    assert_eq!(desk.prepared[1], (TurnId(uuid(1)), 6, Question::Passed));
    let transcript = desk.transcript();
    let seen: Vec<(&str, MessageStatus, u32)> =
        transcript.entries().iter().map(|entry| (entry.author.name.as_str(), entry.status, entry.hop.count)).collect();
    let expected =
        [("p", MessageStatus::Complete, 0), ("ada", MessageStatus::Complete, 0), ("Bo", MessageStatus::Running, 1)];
    assert_eq!(seen, expected);
    let handed = json!({"handOver": {"npcId": bo().to_string(), "npc": "Bo", "message": "weigh it"}});
    assert_eq!(desk.parts(1).last().unwrap(), &format!("c={handed}"));
}

#[test]
fn the_next_speaker_ends_the_turn_under_its_own_limits() {
    let mut desk = Desk::asked();
    desk.hands_over(1, pass(Ok(cast())));
    desk.settle(Ok(()));
    assert_eq!((desk.progress[1].step, desk.progress[1].trail.last()), (1, Some(&bo())));
    let turn = desk.state.turn.as_ref().unwrap();
    assert_eq!((turn.step_limit, turn.model.1.as_str(), turn.provider_name.as_str()), (2, "n", "other"));
    desk.end(1, "Weighed.", Ending::Provider(End::Complete(FinishReason::Stop)));
    desk.settle(Ok(()));
    assert_eq!(desk.text_of(2), "Weighed.");
    let ends: Vec<TurnState> = desk
        .shown
        .iter()
        .filter_map(|(_, frame)| match frame {
            Frame::Finish(finish) => Some(finish.turn.state),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [TurnState::Running, TurnState::Running, TurnState::Ended]);
    assert!(desk.state.is_idle());
}

#[test]
fn promise_14_one_hand_over_too_many_is_told_and_ends_the_turn() {
    let mut desk = Desk::asked();
    desk.set_hops(6);
    desk.hands_over(1, pass(Ok(cast())));
    desk.settle(Ok(()));
    let last = desk.transcript().entries().last().unwrap().clone();
    assert_eq!((last.status, last.error.unwrap().code), (MessageStatus::Complete, ErrorCode::HopLimit));
    let refused = "\"refused\":\"not handed over: this turn has had all 6 hand-overs\"";
    assert!(desk.parts(1).last().unwrap().contains(refused), "{:?}", desk.parts(1));
    assert!(desk.state.is_idle());
}

#[test]
fn a_hand_over_to_one_who_cannot_answer_is_an_error_that_the_speaker_sees() {
    let mut desk = Desk::asked();
    desk.hands_over(1, pass(Err(internal())));
    desk.settle(Ok(()));
    assert_eq!(desk.prepared[1].2, Question::InHistory);
    assert!(desk.parts(1).last().unwrap().starts_with("c=not handed over: Bo can't answer now: "));
}

#[test]
fn two_who_go_round_in_circles_are_told_to_close() {
    let mut desk = Desk::asked();
    let ada = NpcId(uuid(0xada));
    desk.state.turn.as_mut().unwrap().trail = vec![ada, bo(), ada, bo(), ada];
    desk.hands_over(1, pass(Ok(cast())));
    desk.settle(Ok(()));
    assert_eq!(desk.prepared[1].2, Question::InHistory);
    assert!(desk.parts(1).last().unwrap().contains("pass this back and forth"), "{:?}", desk.parts(1));
}

#[test]
fn stop_at_a_hand_over_ends_the_turn_with_the_first_speaker() {
    let mut desk = Desk::asked();
    let tail = vec![called("c", "message_npc")];
    desk.over(1, tail, Ending::Calls(FinishReason::ToolCalls, vec![ruling("c", Ruling::Run)]));
    desk.settle(Ok(()));
    desk.give(Event::AbortAsked { turn: None, ticket: Ticket(90), now: at(1) });
    let ending = Ending::Called;
    let pass = Some(Box::new(pass(Ok(cast()))));
    desk.give(Event::TurnEnded { turn: TurnId(uuid(1)), tail: vec![], usage: None, ending, pass, now: at(1) });
    desk.settle(Ok(()));
    assert_eq!(desk.transcript().entries().last().unwrap().status, MessageStatus::Aborted);
    assert!(desk.state.is_idle());
}

#[test]
fn stop_while_a_hand_over_is_being_stored_ends_the_next_speakers_part() {
    let mut desk = Desk::asked();
    desk.hands_over(1, pass(Ok(cast())));
    desk.give(Event::AbortAsked { turn: None, ticket: Ticket(90), now: at(1) });
    let before = desk.cancelled.len();
    desk.settle(Ok(()));
    assert_eq!(desk.cancelled.len(), before + 1, "the new task is told too");
    desk.end(1, "", Ending::Aborted);
    desk.settle(Ok(()));
    let last = desk.transcript().entries().last().unwrap().clone();
    assert_eq!((last.author.name.as_str(), last.status), ("Bo", MessageStatus::Aborted));
}

#[test]
fn when_it_is_everybodys_turn_the_next_one_goes_on_without_a_call_and_without_a_hop() {
    let mut desk = Desk::asked();
    let ending = Ending::Provider(End::Complete(FinishReason::Stop));
    let next = Pass { call: None, message: String::new(), ..pass(Ok(cast())) };
    let tail = vec![Delta::Text("Mine.".into())];
    let turn = TurnId(uuid(1));
    desk.give(Event::TurnEnded { turn, tail, usage: None, ending, pass: Some(Box::new(next)), now: at(1) });
    desk.settle(Ok(()));
    assert_eq!(desk.prepared[1].2, Question::Passed);
    assert_eq!(desk.transcript().entries().last().unwrap().hop.count, 0);
}
