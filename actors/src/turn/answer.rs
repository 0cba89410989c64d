//! What one answer of the model becomes on its way to the Conversation: an echoed label is withheld, calls get ids that are
//! their own within the Message, and once the answer has ended whole they are ruled on.

use std::collections::HashMap;

use crate::{
    conversation::Progress,
    policy::{
        calls::{Offered, judge},
        echo::Echo,
        outcome::Ending,
        said::Utterance,
    },
    ports::End,
    vocabulary::{Body, CallDelta, Delta, FinishReason},
};

#[derive(Debug)]
pub struct Answer {
    echo: Echo,
    /// Ids that earlier answers of this Message have used.
    taken: Vec<String>,
    /// The Provider's ids, and those under which its calls are known here.
    renamed: HashMap<String, String>,
    /// The calls of this answer alone.
    calls: Body,
}

impl Answer {
    pub fn after(progress: &Progress, echo: Echo) -> Self {
        let made = progress.said.iter().flat_map(|said| said.parts.iter());
        let ids = made.filter_map(|part| match part {
            Utterance::Call { id, .. } => Some(id.to_string()),
            _ => None,
        });
        // Words behind the first answer lead with nothing.
        let echo = if progress.said.is_some() { Echo::none() } else { echo };
        Self { echo, taken: ids.collect(), renamed: HashMap::new(), calls: Body::default() }
    }

    /// What may be shown of it now, in order.
    pub fn pass(&mut self, delta: Delta) -> impl Iterator<Item = Delta> {
        let (first, second) = match delta {
            Delta::Text(text) => (Some(Delta::Text(self.echo.push(text))), None),
            // A thought before the words is no word; one behind them follows what was held of them.
            Delta::Reasoning(text) => (self.held(), Some(Delta::Reasoning(text))),
            Delta::Opaque(opaque) => (self.held(), Some(Delta::Opaque(opaque))),
            Delta::Call(call) => {
                let call = self.own(call);
                self.calls.place(Delta::Call(call.clone()));
                (Some(Delta::Text(self.echo.finish())), Some(Delta::Call(call)))
            }
            Delta::Part(part) => (Some(Delta::Text(self.echo.finish())), Some(Delta::Part(part))),
        };
        let shown = |delta: &Delta| !matches!(delta, Delta::Text(text) if text.is_empty());
        [first, second].into_iter().flatten().filter(shown)
    }

    fn held(&mut self) -> Option<Delta> {
        self.echo.is_holding().then(|| Delta::Text(self.echo.finish()))
    }

    /// What was withheld and is shown after all.
    pub fn rest(&mut self) -> Option<Delta> {
        Some(self.echo.finish()).filter(|text| !text.is_empty()).map(Delta::Text)
    }

    /// How the answer ended, its calls ruled on. A call of an answer that was cut off, or withheld, never runs
    /// (promise 13).
    pub fn ending(&self, end: End, offered: &[Offered<'_>], progress: &Progress) -> Ending {
        let calls = self.calls.open_calls();
        match end {
            End::Complete(reason)
                if !calls.is_empty() && !matches!(reason, FinishReason::Length | FinishReason::ContentFilter) =>
            {
                Ending::Calls(reason, judge(&calls, offered, progress.said.as_deref(), &progress.misfits))
            }
            end => Ending::Provider(end),
        }
    }

    /// Some Providers count their calls anew in each answer.
    fn own(&mut self, call: CallDelta) -> CallDelta {
        if !self.taken.contains(&call.id) {
            return call;
        }
        let taken = &self.taken;
        let id = self.renamed.entry(call.id.clone()).or_insert_with(|| {
            let free = (2..).map(|nth| format!("{}_{nth}", call.id)).find(|id| !taken.contains(id));
            free.unwrap_or_else(|| call.id.clone())
        });
        CallDelta { id: id.clone(), ..call }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        policy::{calls::Ruling, said::Said},
        vocabulary::{Approval, Author, AuthorKind, Hop, MessageId, Role},
    };
    use serde_json::json;
    use std::sync::Arc;
    use uuid::Uuid;

    fn progress(earlier: &[&str]) -> Progress {
        let mut body = Body::default();
        for id in earlier {
            body.place(call(id, "look", "{}"));
        }
        let author = Author { kind: AuthorKind::Npc, id: "a".into(), name: "Ada".into() };
        let said = Said::of(MessageId(Uuid::nil()), 0, Role::Npc, author, &body);
        Progress {
            message: MessageId(Uuid::nil()),
            step: 1,
            said: (!earlier.is_empty()).then(|| Arc::new(said)),
            parts: 0,
            misfits: Vec::new(),
            hop: Hop::default(),
            trail: Vec::new(),
        }
    }

    fn call(id: &str, name: &str, arguments: &str) -> Delta {
        Delta::Call(CallDelta { id: id.into(), name: name.into(), arguments: arguments.into(), closed: true })
    }

    fn shown(answer: &mut Answer, delta: Delta) -> Vec<Delta> {
        answer.pass(delta).collect()
    }

    #[test]
    fn an_id_that_an_earlier_answer_used_gets_another_one_and_keeps_it() {
        let mut answer = Answer::after(&progress(&["c", "c_2"]), Echo::none());
        assert_eq!(shown(&mut answer, call("c", "look", "")), [call("c_3", "look", "")]);
        assert_eq!(shown(&mut answer, call("c", "look", "{}")), [call("c_3", "look", "{}")]);
        assert_eq!(shown(&mut answer, call("d", "look", "{}")), [call("d", "look", "{}")]);
    }

    #[test]
    fn a_withheld_beginning_is_shown_before_what_follows_it() {
        let mut answer = Answer::after(&progress(&[]), Echo::of("Ada"));
        assert_eq!(shown(&mut answer, Delta::Reasoning("hm".into())), [Delta::Reasoning("hm".into())]);
        assert_eq!(shown(&mut answer, Delta::Text("Ad".into())), []);
        assert_eq!(shown(&mut answer, call("c", "look", "{}")), [Delta::Text("Ad".into()), call("c", "look", "{}")]);
        let mut answer = Answer::after(&progress(&[]), Echo::of("Ada"));
        assert_eq!(shown(&mut answer, Delta::Text("Ada".into())), []);
        assert_eq!(answer.rest(), Some(Delta::Text("Ada".into())));
        assert_eq!(answer.rest(), None);
    }

    #[test]
    fn promise_13_calls_count_when_the_answer_ended_whole_and_not_otherwise() {
        let schema = json!({"type": "object"});
        let offered = [Offered { name: "look", parameters: &schema, approval: Approval::Never }];
        let mut answer = Answer::after(&progress(&[]), Echo::none());
        answer.calls.place(call("c", "look", "{}"));
        for reason in [FinishReason::Stop, FinishReason::ToolCalls, FinishReason::Other] {
            let ending = answer.ending(End::Complete(reason), &offered, &progress(&[]));
            assert!(matches!(&ending, Ending::Calls(_, judged) if judged[0].ruling == Ruling::Run), "{ending:?}");
        }
        for end in [End::Complete(FinishReason::Length), End::Complete(FinishReason::ContentFilter), End::Truncated] {
            assert_eq!(answer.ending(end.clone(), &offered, &progress(&[])), Ending::Provider(end));
        }
        let words = Answer::after(&progress(&[]), Echo::none());
        let end = End::Complete(FinishReason::ToolCalls);
        assert_eq!(words.ending(end.clone(), &offered, &progress(&[])), Ending::Provider(end));
    }
}
