//! What follows when a task of the turn is over: calls are marked and run, their results lead to the next step, another NPC
//! goes on, or the Message ends. No tool starts before its call is committed as running, and no step follows before its
//! result is: that is the record of side effects.

use std::sync::Arc;

use crate::{
    policy::{
        calls::{Judged, Ruling},
        outcome::{self, Ending, answered_call, closed_call},
        passing,
        said::{hand_over_output, hand_over_refused},
    },
    vocabulary::{CallState, Delta, Hop, Part, Timestamp, ToolCall},
};

use super::{
    super::{
        effect::{Answer, CancelReason, ChangeRefusal, Effect, Question},
        event::{Decision, Pass, Ticket},
        turn_state::{Decided, InFlight, NextPart, Then},
    },
    Conversation,
    ending::Onward,
    flights::pending_writes,
};

/// What follows from a task's end.
pub enum After {
    /// This is stored, and what follows from that.
    Stored(Option<InFlight>),
    /// Nothing needs to be stored first.
    GoesOn(Vec<Effect>),
}

impl Conversation {
    pub(super) fn after_task(&mut self, ending: Ending, now: Timestamp) -> After {
        let Some(turn) = self.turn.as_mut() else { return After::Stored(None) };
        let between_steps = matches!(ending, Ending::Calls(..) | Ending::Called);
        if let Some(reason) = turn.stopped.filter(|_| between_steps) {
            let ending = match reason {
                CancelReason::Abort => Ending::Aborted,
                CancelReason::StoreUnavailable => Ending::StoreUnavailable,
            };
            return After::Stored(self.ending_flight(&ending, Onward::ByRule, now));
        }
        let steered = self.queue.iter().any(|item| item.steers == Some(turn.id));
        match ending {
            Ending::Calls(_, judged) if turn.step < turn.step_limit => After::Stored(self.calls_flight(judged, now)),
            Ending::Calls(..) => {
                let ending = Ending::StepLimit(turn.step_limit);
                After::Stored(self.ending_flight(&ending, Onward::ByRule, now))
            }
            Ending::Called => match turn.pass.take() {
                Some(pass) => self.pass(*pass, now),
                None if steered => After::Stored(self.ending_flight(&Ending::Called, Onward::ByRule, now)),
                None => self.stepped(now),
            },
            ending => After::Stored(self.ending_flight(&ending, Onward::ByRule, now)),
        }
    }

    /// Each call of the answer as it was ruled: running, waiting for a yes, or done with the reason for which it did not run.
    fn calls_flight(&mut self, judged: Vec<Judged>, now: Timestamp) -> Option<InFlight> {
        let mut seq = self.last_seq;
        let turn = self.turn.as_mut()?;
        turn.ending = None;
        let (mut writes, mut publish) = pending_writes(turn, &mut seq);
        let mut calls = Vec::new();
        for call in turn.body.open_calls() {
            let ruling = judged.iter().find(|judged| judged.call_id == call.tool_call_id).map(|judged| &judged.ruling);
            match ruling {
                Some(Ruling::Run) => {
                    let call = ToolCall { state: CallState::Running, ..call };
                    turn.pending.push(Delta::Part(Part::ToolCall(call.clone())));
                    calls.push(call);
                }
                Some(Ruling::Ask) => {
                    let call = ToolCall { state: CallState::AwaitingApproval, ..call };
                    turn.pending.push(Delta::Part(Part::ToolCall(call.clone())));
                    calls.push(call);
                }
                Some(Ruling::Misfit(why)) => {
                    turn.misfits.push(call.name.clone());
                    turn.pending.extend(closed_call(call, why));
                }
                Some(Ruling::Refuse(why)) => turn.pending.extend(closed_call(call, why)),
                None => turn.pending.extend(closed_call(call, "not run: it was not looked at")),
            }
        }
        let (marks, shown) = pending_writes(turn, &mut seq);
        writes.extend(marks);
        publish.extend(shown);
        let then = if calls.is_empty() { Then::Stepped } else { Then::Calling { calls } };
        Some(InFlight { batch: self.batch(seq, writes), since: now, publish, then })
    }

    /// All calls have their results. What of them is not stored yet comes first.
    fn stepped(&mut self, now: Timestamp) -> After {
        let mut seq = self.last_seq;
        let Some(turn) = self.turn.as_mut() else { return After::Stored(None) };
        turn.ending = None;
        let (writes, publish) = pending_writes(turn, &mut seq);
        if writes.is_empty() {
            return After::GoesOn(self.next_step());
        }
        After::Stored(Some(InFlight { batch: self.batch(seq, writes), since: now, publish, then: Then::Stepped }))
    }

    /// The same speaker goes on.
    fn next_step(&mut self) -> Vec<Effect> {
        let Some(turn) = self.turn.as_mut() else { return Vec::new() };
        turn.calling = false;
        turn.step += 1;
        // What a branched turn answers is not the newest of the history.
        let (before_position, question) = match turn.branched {
            true => (turn.before_position, Question::Planned),
            false => (turn.position, Question::InHistory),
        };
        let mut effects = vec![
            Effect::Prepare { turn: turn.id, before_position, question, progress: turn.progress() },
            Effect::Release(turn.id),
        ];
        effects.extend(turn.stopped.map(|reason| Effect::Cancel(turn.id, reason)));
        effects
    }

    /// The marks are stored: now the calls may run.
    pub(super) fn calling(&mut self, calls: Vec<ToolCall>) -> Vec<Effect> {
        let Some(turn) = self.turn.as_mut() else { return Vec::new() };
        turn.calling = true;
        let mut effects = vec![Effect::RunCalls { turn: turn.id, calls, progress: turn.progress() }];
        effects.extend(turn.stopped.map(|reason| Effect::Cancel(turn.id, reason)));
        effects
    }

    /// A call hands over. It is answered in the same transaction that ends the speaker's part and begins the next one's.
    fn pass(&mut self, pass: Pass, now: Timestamp) -> After {
        let Pass { call, to, to_name, message, reply, cast } = pass;
        let Some(turn) = self.turn.as_mut() else { return After::Stored(None) };
        let open = turn.body.open_calls().into_iter().find(|open| Some(&open.tool_call_id) == call.as_ref());
        let Some(open) = open else { return self.stepped(now) };
        let refuse = |why: String| closed_call(open.clone(), &why);
        let hop = turn.hop;
        let onward = match (passing::step(&turn.trail, to, hop), cast) {
            (passing::Step::LimitReached, _) => {
                let why = format!("not handed over: this turn has had all {} hand-overs", hop.limit);
                let output = hand_over_refused(&to.to_string(), &to_name, &message, &why);
                turn.pending.extend(answered_call(open.clone(), output, true));
                Onward::Ends(outcome::hop_limit(hop.limit, &to_name))
            }
            (passing::Step::Circle, _) => {
                let why = format!("not handed over: you and {to_name} pass this back and forth; close it yourself");
                turn.pending.extend(refuse(why));
                return self.stepped(now);
            }
            (passing::Step::Pass, Err(error)) => {
                turn.pending.extend(refuse(format!("not handed over: {to_name} can't answer now: {}", error.message)));
                return self.stepped(now);
            }
            (passing::Step::Pass, Ok(cast)) => {
                let output = hand_over_output(&to.to_string(), &to_name, &message);
                turn.pending.extend(answered_call(open, output, false));
                Onward::Passes(cast, Hop { count: hop.count + 1, ..hop }, reply)
            }
        };
        After::Stored(self.ending_flight(&Ending::Called, onward, now))
    }

    /// The speaker's part ended and the next one's began.
    pub(super) fn passed(&mut self, part: NextPart, now: Timestamp) -> Vec<Effect> {
        let Some(turn) = self.turn.as_mut() else { return Vec::new() };
        let earlier = Arc::new(turn.said());
        turn.begin_part(&part.reply, part.cast, now);
        self.next_position = turn.position + 1;
        let mut effects = vec![
            if turn.branched { Effect::ForgetWindow } else { Effect::Recall(earlier) },
            Effect::Prepare {
                turn: turn.id,
                before_position: turn.position,
                question: Question::Passed,
                progress: turn.progress(),
            },
            Effect::Release(turn.id),
        ];
        // Everything up to here is in the transcript now.
        turn.before_position = turn.position;
        effects.extend(turn.stopped.map(|reason| Effect::Cancel(turn.id, reason)));
        effects
    }

    /// Somebody says whether a call may run. It counts once it is stored.
    pub(super) fn on_decision(
        &mut self,
        call: String,
        decision: Decision,
        ticket: Ticket,
        now: Timestamp,
    ) -> Vec<Effect> {
        let refused = vec![Effect::Answer(ticket, Answer::Changed(Err(ChangeRefusal::NotAwaiting)))];
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.calling && turn.stopped.is_none()) else {
            return refused;
        };
        let waiting = turn
            .body
            .open_calls()
            .into_iter()
            .find(|open| open.tool_call_id == call && open.state == CallState::AwaitingApproval);
        let settled = |delta: &Delta| match delta {
            Delta::Part(Part::ToolCall(later)) => later.tool_call_id == call,
            _ => false,
        };
        let Some(waiting) = waiting.filter(|_| turn.ending.is_none() && !turn.pending.iter().any(settled)) else {
            return refused;
        };
        match &decision {
            Decision::Approve { input } => {
                let input = input.clone().map_or_else(|| waiting.input.clone(), Into::into);
                turn.pending.push(Delta::Part(Part::ToolCall(ToolCall {
                    state: CallState::Running,
                    input,
                    ..waiting
                })));
            }
            Decision::Deny => turn.pending.extend(closed_call(waiting, "not run: the Player said no")),
        }
        turn.decided.push(Decided { call, decision, ticket });
        self.flush(now)
    }
}
