//! Builds what is sent to a model from stored history, whatever is in there: no bad item of the past makes the next
//! request fail (promise 10). The one place where a request's items are made.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    attribution::overheard,
    said::{Said, Utterance},
};
use crate::{
    ports::{
        RequestItem,
        provider::{ReplayedReasoning, RequestedCall},
    },
    vocabulary::{NpcId, Opaque, ProviderId, Role},
};

/// Stands for an output that is blank: models and servers refuse empty ones.
pub const NO_OUTPUT: &str = "(no output)";
/// Stands for a result that was never stored.
pub const NO_RESULT: &str = "(no result was kept)";
/// Stands where a request must begin, or end, with somebody's words and nobody said any.
pub const NO_WORDS: &str = "(no words)";

/// Characters of a call's id that every server takes.
const ID_LIMIT: usize = 40;

/// Who is asked, and as whom it answers.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub speaker: NpcId,
    pub in_party: bool,
    /// Thoughts go back to the Provider and model that had them, and to no other.
    pub provider: ProviderId,
    pub model: &'a str,
}

/// The request's history, oldest first: what was said before, what is asked now, and what the speaker has already done
/// about it in this turn.
///
/// What holds of every answer, whatever was stored: it begins with somebody's words and ends with words or results; no two
/// neighbours are of one role but results; each call has exactly one result, right behind it and in the order of the calls,
/// under an id that is used once; arguments are JSON objects; nothing is blank.
pub fn request_items(
    history: &[Arc<Said>],
    question: Option<&Arc<str>>,
    so_far: Option<&Said>,
    asked: Asked<'_>,
) -> Vec<RequestItem> {
    let mut items = Items { items: Vec::with_capacity(history.len() + 2), ids: HashSet::new(), asked };
    for said in history {
        items.say(said);
    }
    if let Some(question) = question {
        items.hear(Arc::clone(question));
    }
    if let Some(so_far) = so_far {
        items.say(so_far);
    }
    items.closed()
}

struct Items<'a> {
    items: Vec<RequestItem>,
    /// Ids of calls that are in the request already.
    ids: HashSet<Arc<str>>,
    asked: Asked<'a>,
}

impl Items<'_> {
    fn say(&mut self, said: &Said) {
        let own = said.role == Role::Npc && (!self.asked.in_party || said.author.id == self.asked.speaker.to_string());
        match said.role {
            Role::Npc if own && said.parts.is_empty() => self.answer(Step::of_words(&said.text)),
            Role::Npc if own => steps(said).into_iter().for_each(|step| self.answer(step)),
            // A colleague's words reach the speaker as something it was told, not as something it said.
            Role::Npc => self.hear(overheard(said).into()),
            Role::Player => self.hear(Arc::clone(&said.text)),
        }
    }

    fn hear(&mut self, text: Arc<str>) {
        if text.trim().is_empty() {
            return;
        }
        match self.items.last_mut() {
            Some(RequestItem::User { text: before }) => *before = format!("{before}\n\n{text}").into(),
            _ => self.items.push(RequestItem::User { text }),
        }
    }

    /// One answer of the model. Blank ones (stopped before the first word, foreign thoughts only) are left out.
    fn answer(&mut self, step: Step<'_>) {
        let text = step.text();
        let blank = text.trim().is_empty();
        if blank && step.calls.is_empty() {
            return;
        }
        // A request begins with somebody's words.
        if self.items.is_empty() {
            self.hear(NO_WORDS.into());
        }
        let ids: Vec<Arc<str>> = step.calls.iter().map(|call| self.mint(call.id)).collect();
        let calls: Vec<RequestedCall> = step
            .calls
            .iter()
            .zip(&ids)
            .map(|(call, id)| RequestedCall {
                id: id.to_string(),
                name: call.name.to_string(),
                arguments: call.arguments.to_string(),
            })
            .collect();
        let reasoning = step
            .thought
            .filter(|(_, opaque)| self.is_own(opaque))
            .map(|(text, opaque)| ReplayedReasoning { text: text.to_string(), opaque: opaque.clone() });
        match self.items.last_mut() {
            Some(RequestItem::Assistant { text: before, reasoning: thought, calls: made }) if made.is_empty() => {
                if !blank {
                    *before = format!("{before}\n\n{text}").into();
                }
                *thought = reasoning.or(thought.take());
                *made = calls;
            }
            _ => {
                let text = if blank { "".into() } else { text };
                self.items.push(RequestItem::Assistant { text, reasoning, calls });
            }
        }
        for (call, id) in step.calls.iter().zip(ids) {
            let (output, is_error) = step.results.get(call.id).copied().unwrap_or((NO_RESULT, true));
            let output = if output.trim().is_empty() { NO_OUTPUT } else { output };
            let (id, name, output) = (id.to_string(), call.name.to_string(), output.to_owned());
            self.items.push(RequestItem::ToolResult { id, name, output, is_error });
        }
    }

    fn is_own(&self, opaque: &Opaque) -> bool {
        opaque.provider_id == Some(self.asked.provider) && opaque.model.as_deref() == Some(self.asked.model)
    }

    /// The call's own id where every server takes it and it is used for the first time, else one that is.
    fn mint(&mut self, own: &str) -> Arc<str> {
        let usable = !own.is_empty()
            && own.len() <= ID_LIMIT
            && own.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        let minted = (usize::from(!usable)..)
            .map(|nth| match (nth, usable) {
                (0, _) => Arc::from(own),
                (nth, true) => Arc::from(format!("{}_{nth}", &own[..own.len().min(ID_LIMIT - 8)])),
                (nth, false) => Arc::from(format!("call_{nth}")),
            })
            .find(|id: &Arc<str>| !self.ids.contains(id));
        let id: Arc<str> = minted.unwrap_or_else(|| own.into());
        self.ids.insert(Arc::clone(&id));
        id
    }

    /// A request never ends on an answer: many servers take that for one that is to be continued, or refuse it.
    fn closed(mut self) -> Vec<RequestItem> {
        while matches!(self.items.last(), Some(RequestItem::Assistant { .. })) {
            self.items.pop();
        }
        if self.items.is_empty() {
            self.hear(NO_WORDS.into());
        }
        self.items
    }
}

/// One answer of the model within a reply: what it thought and said, and the calls that it made at once.
#[derive(Debug, Default)]
struct Step<'a> {
    words: Vec<&'a Arc<str>>,
    thought: Option<(&'a Arc<str>, &'a Opaque)>,
    calls: Vec<Call<'a>>,
    results: HashMap<&'a str, (&'a str, bool)>,
}

#[derive(Debug, Clone, Copy)]
struct Call<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
}

impl<'a> Step<'a> {
    fn of_words(text: &'a Arc<str>) -> Self {
        Self { words: vec![text], ..Self::default() }
    }

    fn text(&self) -> Arc<str> {
        match self.words.as_slice() {
            [one] => Arc::clone(one),
            words => words.iter().map(|text| &***text).collect::<String>().into(),
        }
    }
}

/// A reply's answers in their order: a new one begins with whatever follows the results of the one before. A result goes
/// to the call of its id in the same reply, and is left out where there is none, or where that one has its result.
fn steps(said: &Said) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = vec![Step::default()];
    let mut answered = false;
    for part in said.parts.iter() {
        if let Utterance::Result { id, output, is_error } = part {
            let made = steps.iter_mut().find(|step| step.calls.iter().any(|call| *call.id == **id));
            if let Some(step) = made {
                step.results.entry(id).or_insert((output, *is_error));
                answered = true;
            }
            continue;
        }
        if matches!(part, Utterance::HandOver { .. }) {
            continue;
        }
        if std::mem::take(&mut answered) {
            steps.push(Step::default());
        }
        let Some(step) = steps.last_mut() else { continue };
        match part {
            Utterance::Words(text) => step.words.push(text),
            Utterance::Thought { text, opaque } => step.thought = Some((text, opaque)),
            Utterance::Call { id, name, arguments } => {
                // The same id again is the same call.
                if !name.is_empty() && !step.calls.iter().any(|call| *call.id == **id) {
                    step.calls.push(Call { id, name, arguments });
                }
            }
            Utterance::Result { .. } | Utterance::HandOver { .. } => {}
        }
    }
    steps
}
