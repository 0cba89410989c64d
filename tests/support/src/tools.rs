//! A capability whose tools are played by the test: a call runs until the test answers it, and every call is kept.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use hamlet_actors::{
    capability::{Afterthought, Capability, CapabilityError, Contribution, PastTurn, Scene, Section},
    ports::{Invocation, Tool, ToolOutcome, ToolSpec},
};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};

/// A tool that any number of calls may run at once; each waits for its own answer.
pub struct PlayedTool {
    spec: ToolSpec,
    answers: Mutex<VecDeque<oneshot::Receiver<ToolOutcome>>>,
    called: watch::Sender<Vec<Invocation>>,
    /// Calls that were dropped before their answer.
    cut: watch::Sender<usize>,
}

impl PlayedTool {
    pub fn new(name: &str) -> Arc<Self> {
        let parameters =
            json!({"type": "object", "properties": {"at": {"type": "string"}}, "additionalProperties": false});
        let spec = ToolSpec { name: name.to_owned(), description: format!("Does {name}."), parameters };
        Arc::new(Self {
            spec,
            answers: Mutex::default(),
            called: watch::Sender::new(Vec::new()),
            cut: watch::Sender::new(0),
        })
    }

    /// The next call is answered with what the test sends.
    pub fn expect(&self) -> oneshot::Sender<ToolOutcome> {
        let (answer, answered) = oneshot::channel();
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push_back(answered);
        answer
    }

    /// The next call is answered at once.
    pub fn answer(&self, text: &str) {
        // Its receiver was put in line a moment ago.
        drop(self.expect().send(ToolOutcome::text(text)));
    }

    /// The n-th call (from 0), once it runs.
    pub async fn called(&self, n: usize) -> Invocation {
        let mut called = self.called.subscribe();
        let found = called.wait_for(|called| called.len() > n).await.map(|called| called[n].clone());
        found.unwrap_or_else(|_| unreachable!("the sender lives as long as self"))
    }

    pub fn times_called(&self) -> usize {
        self.called.borrow().len()
    }

    /// Resolves when so many calls were dropped before they were answered.
    pub async fn cut(&self, times: usize) {
        let mut cut = self.cut.subscribe();
        drop(cut.wait_for(|cut| *cut >= times).await);
    }
}

struct Cut<'a>(Option<&'a watch::Sender<usize>>);

impl Drop for Cut<'_> {
    fn drop(&mut self) {
        if let Some(cut) = self.0 {
            cut.send_modify(|cut| *cut += 1);
        }
    }
}

struct Handle(Arc<PlayedTool>);

impl Tool for Handle {
    fn key(&self) -> &str {
        &self.0.spec.name
    }

    fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    fn call(&self, call: Invocation) -> BoxFuture<'static, ToolOutcome> {
        let tool = Arc::clone(&self.0);
        Box::pin(async move {
            let answer = tool.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let mut cut = Cut(Some(&tool.cut));
            tool.called.send_modify(|called| called.push(call));
            let outcome = match answer {
                Some(answer) => answer.await.unwrap_or_else(|_| ToolOutcome::error("the test gave no answer")),
                None => std::future::pending().await,
            };
            cut.0 = None;
            outcome
        })
    }
}

/// Brings the tools and sections that the test gives it.
#[derive(Default)]
pub struct PlayedCapability {
    tools: Mutex<Vec<Arc<PlayedTool>>>,
    sections: Mutex<Vec<Section>>,
    fails: Mutex<Option<String>>,
    scenes: Mutex<Vec<Arc<Scene>>>,
    title: Mutex<Option<String>>,
}

impl PlayedCapability {
    pub fn bring(&self, tool: &Arc<PlayedTool>) {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(tool));
    }

    pub fn say(&self, section: Section) {
        self.sections.lock().unwrap_or_else(PoisonError::into_inner).push(section);
    }

    /// From now on it brings nothing.
    pub fn fail(&self, why: &str) {
        *self.fails.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_owned());
    }

    /// It gives the first exchange this title.
    pub fn title(&self, title: &str) {
        *self.title.lock().unwrap_or_else(PoisonError::into_inner) = Some(title.to_owned());
    }

    /// For each time that it was asked.
    pub fn scenes(&self) -> Vec<Arc<Scene>> {
        self.scenes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Capability for PlayedCapability {
    fn name(&self) -> &'static str {
        "played"
    }

    fn turn_ended(&self, turn: Arc<PastTurn>) -> Option<BoxFuture<'static, Result<Afterthought, CapabilityError>>> {
        let title = self.title.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let title = title.filter(|_| turn.first)?;
        Some(Box::pin(async move { Ok(Afterthought::Title(title)) }))
    }

    fn gather(&self, scene: Arc<Scene>) -> BoxFuture<'static, Result<Contribution, CapabilityError>> {
        self.scenes.lock().unwrap_or_else(PoisonError::into_inner).push(scene);
        let fails = self.fails.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let tools: Vec<Arc<dyn Tool>> =
            tools.iter().map(|tool| Arc::new(Handle(Arc::clone(tool))) as Arc<dyn Tool>).collect();
        let sections = self.sections.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async move {
            match fails {
                Some(why) => Err(CapabilityError(why)),
                None => Ok(Contribution { sections, tools, unreachable: Vec::new() }),
            }
        })
    }
}

/// Arguments as the played tools take them.
pub fn at(place: &str) -> Value {
    json!({"at": place})
}
