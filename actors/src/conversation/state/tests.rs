use super::*;
use crate::{
    conversation::{
        Aborted, Begin, Begun, Decision, Intent, OnBusy, Progress, Published, Question, event::Idempotency,
    },
    policy::outcome::Ending,
    ports::End,
    vocabulary::{
        Author, AuthorKind, Body, ErrorCode, FinishReason, Frame, Hop, MessageId, MessageStatus, Part, Piece, PlayerId,
        ProviderId, ToolCall, Transcript, TurnStamp, TurnState,
    },
};
use proptest::prelude::*;
use uuid::Uuid;

fn uuid(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A Conversation with a Journal that settles when the test says so, and everything that was shown and answered.
struct Desk {
    state: Conversation,
    submitted: Vec<Batch>,
    /// By the newest of them.
    owed: Vec<(Ticket, Answer)>,
    shown: Vec<(u64, Frame)>,
    told: Vec<ErrorCode>,
    answers: Vec<(Ticket, Answer)>,
    taken: usize,
    cancelled: Vec<CancelReason>,
    retries: usize,
    looks: Vec<std::time::Duration>,
    quit: Option<JournalError>,
    now: i64,
    on_busy: OnBusy,
    plans: Vec<(u64, Queued)>,
    prepared: Vec<(TurnId, i64, Question)>,
    progress: Vec<std::sync::Arc<Progress>>,
    ran: Vec<Vec<ToolCall>>,
    decided: Vec<(String, Decision)>,
    reflected: usize,
    first: Option<std::sync::Arc<super::super::event::Shown>>,
}

impl Desk {
    fn new() -> Self {
        let (state, effects) = Conversation::waking(ConversationId(uuid(1)), Leftover::Failed);
        assert_eq!(effects, vec![Effect::Claim(Leftover::Failed)]);
        let mut desk = Self {
            state,
            submitted: Vec::new(),
            owed: Vec::new(),
            shown: Vec::new(),
            told: Vec::new(),
            answers: Vec::new(),
            taken: 0,
            cancelled: Vec::new(),
            retries: 0,
            looks: Vec::new(),
            quit: None,
            now: 1_000,
            on_busy: OnBusy::Reject,
            plans: Vec::new(),
            prepared: Vec::new(),
            progress: Vec::new(),
            ran: Vec::new(),
            decided: Vec::new(),
            reflected: 0,
            first: None,
        };
        let claimed = Claimed { epoch: 3, last_seq: 10, next_position: 4, title: None, queue: Vec::new() };
        desk.give(Event::Claimed(Ok(claimed)));
        desk
    }

    fn give(&mut self, event: Event) {
        for effect in self.state.apply(event) {
            match effect {
                Effect::Submit { batch, owed } => {
                    self.submitted.push(batch);
                    self.owed = owed;
                }
                Effect::Publish(Published::Frames(frames)) => self.shown.extend(frames),
                Effect::Publish(Published::Pieces { message, pieces }) => {
                    for (seq, piece) in pieces.iter() {
                        if let Piece::Part { index, part } = piece {
                            let frame = Frame::Part { message_id: message, index: *index, part: part.clone() };
                            self.shown.push((*seq, frame));
                        }
                    }
                }
                Effect::Tell { error, .. } => self.told.push(error.code),
                Effect::Answer(ticket, answer) => self.answers.push((ticket, answer)),
                Effect::Taken(_) => self.taken += 1,
                Effect::Cancel(_, reason) => self.cancelled.push(reason),
                Effect::RetryLater => self.retries += 1,
                Effect::LookLater(after) => self.looks.push(after),
                Effect::Plan { attempt, item } => self.plans.push((attempt, *item)),
                Effect::Prepare { turn, before_position, question, progress } => {
                    self.prepared.push((turn, before_position, question));
                    self.progress.push(progress);
                }
                Effect::RunCalls { calls, .. } => self.ran.push(calls),
                Effect::Decide { call, decision, .. } => self.decided.push((call, decision)),
                Effect::Reflect { first, .. } => {
                    self.reflected += 1;
                    self.first = first;
                }
                Effect::Quit(error) => self.quit = Some(error),
                Effect::Claim(_)
                | Effect::Release(_)
                | Effect::OpenLog { .. }
                | Effect::Recall(_)
                | Effect::ForgetWindow
                | Effect::Wake { .. } => {}
            }
        }
    }

    fn say(&mut self, n: u128, text: &str) -> Ticket {
        self.begin(
            n,
            Intent::Send {
                message: MessageId(uuid(n * 100)),
                author: author("p"),
                text: text.into(),
                client_id: None,
                to: None,
            },
        )
    }

    fn regenerate(&mut self, n: u128, as_of: u64, supersedes: Vec<MessageId>) -> Ticket {
        self.begin(n, Intent::Regenerate { as_of, supersedes, variant_of: None, first_position: 5 })
    }

    fn begin(&mut self, n: u128, intent: Intent) -> Ticket {
        self.begin_under(n, intent, None)
    }

    fn begin_under(&mut self, n: u128, intent: Intent, idempotency: Option<Idempotency>) -> Ticket {
        let ticket = Ticket(u64::try_from(n).unwrap_or_default());
        let begin = Begin {
            turn: TurnId(uuid(n)),
            reply: reply(n),
            intent,
            speaker: author("ada"),
            provider_name: "mock".into(),
            model: (ProviderId(uuid(9)), "m".into()),
            hop: Hop { count: 0, limit: 6 },
            step_limit: 3,
            on_busy: self.on_busy,
            idempotency,
            now: at(self.now),
        };
        self.give(Event::BeginAsked { begin: Box::new(begin), ticket });
        ticket
    }

    fn settle(&mut self, outcome: Result<(), JournalError>) {
        self.give(Event::Settled { outcome, now: at(self.now) });
    }

    fn text(&mut self, n: u128, text: &str) {
        let deltas = vec![Delta::Text(text.into())];
        self.give(Event::DeltasArrived { turn: TurnId(uuid(n)), deltas, now: at(self.now) });
    }

    fn end(&mut self, n: u128, tail: &str, ending: Ending) {
        let tail = if tail.is_empty() { vec![] } else { vec![Delta::Text(tail.into())] };
        self.give(Event::TurnEnded { turn: TurnId(uuid(n)), tail, usage: None, ending, pass: None, now: at(self.now) });
    }

    fn transcript(&self) -> Transcript {
        let mut transcript = Transcript::default();
        for (_, frame) in &self.shown {
            transcript.fold(frame.clone());
        }
        transcript
    }

    fn text_of(&self, n: u128) -> String {
        let transcript = self.transcript();
        let entry = transcript.entries().iter().find(|entry| entry.id == reply(n));
        entry.map(|entry| Body { parts: entry.parts.clone(), ..Body::default() }.text()).unwrap_or_default()
    }

    fn status_of(&self, n: u128) -> Option<MessageStatus> {
        self.transcript().entries().iter().find(|entry| entry.id == reply(n)).map(|entry| entry.status)
    }

    fn terminal_frames(&self, n: u128) -> usize {
        let ends = |frame: &Frame| matches!(frame, Frame::Finish(finish) if finish.turn == TurnStamp { id: TurnId(uuid(n)), state: TurnState::Ended });
        self.shown.iter().filter(|(_, frame)| ends(frame)).count()
    }
}

fn author(name: &str) -> Author {
    Author { kind: AuthorKind::Npc, id: name.into(), name: name.into() }
}

fn player(n: u128) -> MessageId {
    MessageId(uuid(n * 100))
}

fn reply(n: u128) -> MessageId {
    MessageId(uuid(n * 100 + 1))
}

fn complete() -> Ending {
    Ending::Provider(End::Complete(FinishReason::Stop))
}

fn unavailable() -> Result<(), JournalError> {
    Err(JournalError::Unavailable("disk full".into()))
}

#[test]
fn promise_2_nothing_is_shown_or_answered_before_its_commit() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    assert_eq!((desk.shown.len(), desk.answers.len(), desk.submitted.len()), (0, 0, 1));
    desk.settle(Ok(()));
    assert_eq!(desk.shown.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), vec![11, 12, 13, 14]);
    desk.text(1, "one");
    assert_eq!((desk.shown.len(), desk.submitted.len()), (4, 2));
    assert_eq!(desk.taken, 0, "the turn waits until its piece is durable");
    desk.settle(Ok(()));
    assert_eq!(desk.text_of(1), "one");
    assert_eq!(desk.taken, 1);
}

#[test]
fn one_batch_is_in_flight_and_what_arrives_meanwhile_is_one_piece_of_the_next() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    for text in ["a", "b", "c"] {
        desk.text(1, text);
    }
    assert_eq!(desk.submitted.len(), 1);
    desk.settle(Ok(()));
    assert_eq!(desk.submitted.len(), 2);
    let Some(Write::Pieces { pieces, .. }) = desk.submitted[1].writes.first() else {
        panic!("{:?}", desk.submitted[1])
    };
    assert_eq!(pieces.to_vec(), vec![(15, Piece::Part { index: 0, part: Part::text("abc") })]);
}

#[test]
fn a_second_turn_is_refused_while_one_is_admitted_and_while_one_runs() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    let busy = Answer::Begun(Err(BeginRefusal::Busy { running: TurnId(uuid(1)) }));
    let second = desk.say(2, "me too");
    assert_eq!(desk.answers.last(), Some(&(second, busy.clone())));
    desk.settle(Ok(()));
    let third = desk.say(3, "and me");
    assert_eq!(desk.answers.last(), Some(&(third, busy)));
    assert_eq!(desk.submitted.len(), 1, "nothing of a refused turn is stored");
}

#[test]
fn a_repeat_under_the_same_key_joins_the_turn_and_another_body_does_not() {
    let mut desk = Desk::new();
    let key = |hash| Some(Idempotency { player: PlayerId(uuid(4)), key: "k".into(), body_hash: [hash; 32] });
    let ask = |desk: &mut Desk, n: u128, hash| {
        let intent = Intent::Send {
            message: MessageId(uuid(n * 100)),
            author: author("p"),
            text: "hi".into(),
            client_id: None,
            to: None,
        };
        desk.begin_under(n, intent, key(hash))
    };
    let (first, second) = (ask(&mut desk, 1, 0), ask(&mut desk, 2, 0));
    let other = ask(&mut desk, 3, 1);
    assert_eq!(desk.answers, vec![(other, Answer::Begun(Err(BeginRefusal::KeyTaken)))]);
    desk.settle(Ok(()));
    let third = ask(&mut desk, 4, 0);
    let begun = |ticket| (ticket, Answer::Begun(Ok(Begun { turn: TurnId(uuid(1)), message: reply(1), cursor: 10 })));
    assert_eq!(desk.answers[1..], [begun(first), begun(second), begun(third)]);
    assert_eq!(desk.submitted.len(), 1);
}

#[test]
fn promise_4_the_tail_of_a_stopped_turn_is_stored_with_its_end_in_one_batch() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    desk.settle(Ok(()));
    desk.text(1, "shown ");
    desk.give(Event::AbortAsked { turn: Some(TurnId(uuid(1))), ticket: Ticket(60), now: at(1_000) });
    assert_eq!(desk.cancelled, vec![CancelReason::Abort]);
    desk.end(1, "and decoded", Ending::Aborted);
    assert_eq!(desk.submitted.len(), 2, "the end waits for the batch in flight");
    desk.settle(Ok(()));
    assert_eq!(desk.submitted.len(), 3);
    assert_eq!(desk.status_of(1), Some(MessageStatus::Running));
    desk.settle(Ok(()));
    assert_eq!(desk.text_of(1), "shown and decoded");
    assert_eq!(desk.status_of(1), Some(MessageStatus::Aborted));
    let aborted = Aborted { aborted: true, turn: Some(TurnId(uuid(1))) };
    assert_eq!(desk.answers.last(), Some(&(Ticket(60), Answer::Aborted(Ok(aborted)))));
    let Some(Write::Finish(finished)) = desk.submitted[2].writes.iter().find(|write| matches!(write, Write::Finish(_)))
    else {
        panic!("no finish in {:?}", desk.submitted[2])
    };
    assert_eq!(finished.body.text(), "shown and decoded");
    assert_eq!(finished.last_seq, desk.submitted[2].last_seq);
}

#[test]
fn a_stop_that_comes_while_the_turn_is_admitted_takes_effect_after_it() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    desk.give(Event::AbortAsked { turn: None, ticket: Ticket(60), now: at(1_000) });
    desk.end(1, "", Ending::Aborted);
    desk.settle(Ok(()));
    desk.settle(Ok(()));
    assert_eq!(desk.status_of(1), Some(MessageStatus::Aborted));
    assert!(desk.state.is_idle());
}

#[test]
fn a_stale_stop_never_hits_a_newer_turn() {
    let mut desk = Desk::new();
    desk.say(2, "hi");
    desk.settle(Ok(()));
    desk.give(Event::AbortAsked { turn: Some(TurnId(uuid(1))), ticket: Ticket(60), now: at(1_000) });
    let mismatch = AbortRefusal::Mismatch { running: TurnId(uuid(2)) };
    assert_eq!(desk.answers.last(), Some(&(Ticket(60), Answer::Aborted(Err(mismatch)))));
    assert_eq!(desk.cancelled, vec![]);
}

#[test]
fn promise_8_late_reports_of_a_turn_that_has_ended_change_nothing() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    desk.settle(Ok(()));
    desk.end(1, "done", complete());
    desk.end(1, "again", Ending::Panicked);
    desk.text(1, "late");
    desk.settle(Ok(()));
    desk.text(1, "later");
    desk.end(1, "again", Ending::Panicked);
    assert_eq!(desk.terminal_frames(1), 1);
    assert_eq!((desk.text_of(1).as_str(), desk.status_of(1)), ("done", Some(MessageStatus::Complete)));
}

#[test]
fn a_regenerate_supersedes_in_the_transaction_of_its_first_part() {
    let mut desk = Desk::new();
    let old = MessageId(uuid(7));
    desk.regenerate(1, 10, vec![old]);
    assert!(!desk.submitted[0].writes.iter().any(|write| matches!(write, Write::Supersede { .. })));
    desk.settle(Ok(()));
    desk.text(1, "anew");
    let [Write::Supersede { left }, Write::Pieces { pieces, .. }] = desk.submitted[1].writes.as_slice() else {
        panic!("{:?}", desk.submitted[1])
    };
    assert_eq!(left, &vec![(old, 12)]);
    assert_eq!(pieces.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), vec![13]);
}

#[test]
fn a_regenerate_that_fails_before_it_produced_anything_supersedes_nothing() {
    let mut desk = Desk::new();
    desk.regenerate(1, 10, vec![MessageId(uuid(7))]);
    desk.settle(Ok(()));
    desk.end(1, "", Ending::Provider(End::Truncated));
    desk.settle(Ok(()));
    let supersedes =
        desk.submitted.iter().flat_map(|batch| &batch.writes).any(|write| matches!(write, Write::Supersede { .. }));
    assert!(!supersedes);
    assert_eq!(desk.status_of(1), Some(MessageStatus::Failed));
}

#[test]
fn a_regenerate_that_was_read_before_the_conversation_moved_on_is_stale() {
    let mut desk = Desk::new();
    let ticket = desk.regenerate(1, 9, vec![]);
    assert_eq!(desk.answers, vec![(ticket, Answer::Begun(Err(BeginRefusal::Stale)))]);
}

#[test]
fn the_title_is_given_once() {
    let mut desk = Desk::new();
    desk.say(1, "What is this place?");
    desk.settle(Ok(()));
    desk.end(1, "A village.", complete());
    desk.settle(Ok(()));
    assert_eq!(desk.transcript().title(), Some("What is this place?"));
    desk.say(2, "And who are you?");
    let titles: Vec<_> =
        desk.submitted[2].writes.iter().filter(|write| matches!(write, Write::Touch { title: Some(_), .. })).collect();
    assert_eq!(titles, Vec::<&Write>::new());
}

#[test]
fn a_long_message_is_folded_so_that_it_keeps_no_old_rows() {
    let mut desk = Desk::new();
    desk.say(1, "hi");
    desk.settle(Ok(()));
    desk.text(1, "one");
    desk.settle(Ok(()));
    desk.now += FOLD_AFTER_MS + 1;
    desk.text(1, " two");
    let Some(Write::Fold { body, through, .. }) = desk.submitted[2].writes.get(1) else {
        panic!("{:?}", desk.submitted[2])
    };
    assert_eq!((body.text().as_str(), *through), ("one two", 16));
    desk.settle(Ok(()));
    desk.text(1, " three");
    assert_eq!(desk.submitted[3].writes.len(), 1);
}

/// One thing that may happen at any moment.
#[derive(Debug, Clone)]
enum Happening {
    Say,
    Text(String),
    End(Ending),
    Abort,
    Settle(bool),
    Retry,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        2 => Just(Happening::Say),
        6 => "[a-z<\"\\\\\u{e9}\u{1F600}]{1,4}".prop_map(Happening::Text),
        1 => prop_oneof![Just(complete()), Just(Ending::Panicked), Just(Ending::Provider(End::Truncated))].prop_map(Happening::End),
        1 => Just(Happening::Abort),
        8 => prop::bool::weighted(0.85).prop_map(Happening::Settle),
        2 => Just(Happening::Retry),
    ]
}

proptest! {
    /// Whatever the order of things: seqs only grow, each ended turn has one terminal frame, what is shown is what is
    /// stored, and no text is lost, doubled or out of order.
    #[test]
    fn any_interleaving_keeps_the_promises(happenings in prop::collection::vec(happening(), 1..80)) {
        let mut desk = Desk::new();
        let (mut turn, mut waiting, mut in_flight) = (1u128, false, false);
        let mut sent = String::new();
        let mut settled = desk.submitted.len();
        for happening in happenings {
            in_flight |= desk.submitted.len() > settled;
            settled = desk.submitted.len();
            match happening {
                Happening::Say if desk.state.is_idle() => { turn += 1; sent.clear(); waiting = false; desk.say(turn, "hi"); }
                Happening::Text(text) if desk.state.running_turn().is_some() && !waiting => {
                    sent.push_str(&text);
                    waiting = true;
                    desk.text(turn, &text);
                }
                Happening::End(ending) if desk.state.running_turn().is_some() => desk.end(turn, "", ending),
                Happening::Abort => desk.give(Event::AbortAsked { turn: None, ticket: Ticket(2000), now: at(1_000) }),
                Happening::Settle(ok) if in_flight => { in_flight = false; desk.settle(if ok { Ok(()) } else { unavailable() }); }
                Happening::Retry if !in_flight => desk.give(Event::RetryDue),
                _ => {}
            }
            waiting &= std::mem::take(&mut desk.taken) == 0;
        }
        for _ in 0..6 {
            if desk.state.running_turn().is_some() { desk.end(turn, "", complete()); }
            desk.give(Event::RetryDue);
            desk.settle(Ok(()));
        }
        let seqs: Vec<u64> = desk.shown.iter().map(|(seq, _)| *seq).collect();
        prop_assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]), "{seqs:?}");
        for n in 2..=turn {
            let begun = desk.shown.iter().any(|(_, frame)| matches!(frame, Frame::Start(start) if start.message.id == reply(n)));
            prop_assert_eq!(desk.terminal_frames(n), usize::from(begun));
            let finished = desk.submitted.iter().rev().flat_map(|batch| &batch.writes).find_map(|write| match write {
                Write::Finish(finished) if finished.id == reply(n) => Some(finished.body.text()),
                _ => None,
            });
            prop_assert_eq!(finished.unwrap_or_default(), desk.text_of(n));
        }
        let text = desk.text_of(turn);
        prop_assert!(sent.starts_with(&text), "{text:?} is not the beginning of {sent:?}");
        prop_assert!(desk.state.is_idle());
    }
}

mod branches;
mod owing;
mod passing;
mod queue;
mod steering;
mod stepping;
mod store;
mod titles;
