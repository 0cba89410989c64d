//! What the model is told: the system prompt, and of what was said as much as the window's budget allows. What falls off is
//! in the stored summary before the request goes out.

use std::sync::Arc;

use super::{gather::Gathered, task::Task};
use crate::{
    policy::{
        prompt::{Section, assemble, ordered, summary},
        repair::{Asked, request_items},
        said::Said,
        summary::Extract,
        window::{CHARS_PER_TOKEN, Final, Window},
    },
    ports::{
        Kept, ModelRequest, PromptRecord, Recipe, SummaryDraft,
        journal::{JournalError, Tail},
        prompts::runs,
    },
    village::Recent,
    vocabulary::{MessageId, Summary, SummaryMaker},
};

/// Messages that are sketched at a time when a long stretch is to be summarised at once.
const SKETCHES: usize = 500;
/// Another version of the summary came first, so often.
const TRIES: usize = 5;

/// What was said before `before_position`, within the budget beside what is asked and what was done about it: from the
/// cache where it reaches just up to there, else from the store.
pub async fn recent(task: &Task, before_position: i64) -> Result<Arc<Recent>, JournalError> {
    for _ in 0..TRIES {
        if let Some(recent) = fitted(task, before_position).await? {
            return Ok(recent);
        }
        task.ports.windows.forget(task.conversation);
    }
    Err(JournalError::Unavailable("the summary keeps changing".to_owned()))
}

/// None when the summary that this was made from does not hold any more.
async fn fitted(task: &Task, before_position: i64) -> Result<Option<Arc<Recent>>, JournalError> {
    let (plan, ports) = (&task.plan, &task.ports);
    let budget = plan.window_tokens;
    let asked = plan.question.as_ref().map_or(0, |text| text.chars().count());
    let reserved = asked + task.progress.said.as_ref().map_or(0, |said| said.chars);
    let last = if plan.question.is_some() { Final::Outside } else { Final::Inside };
    let cached = ports.windows.get(task.conversation).filter(|recent| recent.reaches(before_position));
    let (mut recent, cut_before) = match cached {
        Some(recent) if recent.window.fits(budget, reserved) => return Ok(Some(recent)),
        Some(recent) => ((*recent).clone(), false),
        None => read(task, before_position, budget).await?,
    };
    if cut_before {
        let Some(summary) = summarise_gap(task, &recent, before_position).await? else { return Ok(None) };
        recent.summary = Some(Arc::new(summary));
    }
    let fell = recent.window.fit(budget, reserved, last);
    if let (Some(first), Some(newest)) = (fell.first(), fell.last()) {
        let mut extract = Extract::after(recent.summary.as_ref().map(|summary| summary.text.as_str()));
        fell.iter().for_each(|said| extract.add(said));
        let ids = fell.iter().map(|said| said.message).collect();
        let kept = keep(task, recent.summary.as_deref(), first.position, newest.position, ids, &extract).await?;
        let Some(summary) = kept else { return Ok(None) };
        recent.summary = Some(Arc::new(summary));
    }
    let recent = Arc::new(recent);
    // The cut is kept, so that the next request begins as this one does.
    ports.windows.put(task.conversation, Arc::clone(&recent));
    Ok(Some(recent))
}

/// From the store; and whether something lies between the summary and what was read.
async fn read(task: &Task, before_position: i64, budget_tokens: usize) -> Result<(Recent, bool), JournalError> {
    let ports = &task.ports;
    let summary = ports.summaries.newest(task.conversation, before_position).await?;
    let after = summary.as_ref().map_or(-1, |summary| summary.through_position);
    let chars = budget_tokens.saturating_mul(CHARS_PER_TOKEN);
    let Tail { said, cut } = ports.journal.history(task.conversation, after, before_position, chars).await?;
    Ok((Recent { summary: summary.map(Arc::new), window: Window::of(said) }, cut))
}

/// What lies between the summary and the window, however long it is: read in short pieces, and never held whole.
async fn summarise_gap(task: &Task, recent: &Recent, before_position: i64) -> Result<Option<Summary>, JournalError> {
    let base = recent.summary.as_deref();
    let end = recent.window.said().first().map_or(before_position, |said| said.position);
    let mut after = base.map_or(-1, |summary| summary.through_position);
    let mut extract = Extract::after(base.map(|summary| summary.text.as_str()));
    let mut ids = Vec::new();
    let mut first = None;
    loop {
        let sketches: Vec<Said> = task.ports.journal.sketches(task.conversation, after, end, SKETCHES).await?;
        let Some(newest) = sketches.last() else { break };
        after = newest.position;
        first = first.or(sketches.first().map(|said| said.position));
        for said in &sketches {
            extract.add(said);
            ids.push(said.message);
        }
    }
    match first {
        Some(first) => keep(task, base, first, after, ids, &extract).await,
        None => Ok(base.cloned()),
    }
}

async fn keep(
    task: &Task,
    base: Option<&Summary>,
    first: i64,
    through_position: i64,
    messages: Vec<MessageId>,
    extract: &Extract,
) -> Result<Option<Summary>, JournalError> {
    let draft = SummaryDraft {
        base: base.map(|summary| summary.version),
        messages,
        text: extract.text(),
        from_position: base.map_or(first, |summary| summary.from_position),
        through_position,
        made_by: SummaryMaker::Extract,
    };
    match task.ports.summaries.keep(task.conversation, draft).await? {
        Kept::Kept(summary) => Ok(Some(summary)),
        Kept::Overtaken => Ok(None),
    }
}

/// A request, complete, and what it is put together from.
pub struct Written {
    pub request: ModelRequest,
    pub sections: Vec<Section>,
    pub recipe: Recipe,
}

pub fn write(task: &Task, recent: &Recent, gathered: &Gathered) -> Written {
    let (plan, progress) = (&task.plan, &task.progress);
    let asked =
        Asked { speaker: plan.npc.id, in_party: plan.in_party(), provider: plan.provider.id(), model: &plan.model };
    let mut sections = gathered.sections.clone();
    sections.extend(summary::section(recent.summary.as_deref()));
    let sections = ordered(sections);
    let said = recent.window.said();
    let told = &said[said.partition_point(|said| said.position < plan.knows_from)..];
    let request = ModelRequest {
        model: plan.model.clone(),
        system: assemble(&sections).into(),
        items: request_items(told, plan.question.as_ref(), progress.said.as_deref(), asked),
        tools: gathered.toolbox.specs(&progress.misfits),
        params: plan.npc.params.clone(),
    };
    let recipe = Recipe {
        provider_id: asked.provider,
        model: plan.model.clone(),
        params: plan.npc.params.clone(),
        speaker: asked.speaker,
        in_party: asked.in_party,
        history: runs(told.iter().map(|said| said.position)),
        question: plan.question.as_ref().map(|text| text.to_string()),
        parts: progress.parts,
        summary_version: recent.summary.as_ref().map(|summary| summary.version),
    };
    Written { request, sections, recipe }
}

impl Written {
    pub fn record(&self, task: &Task) -> PromptRecord {
        PromptRecord {
            conversation: task.conversation,
            message: task.progress.message,
            step: task.progress.step,
            sections: self.sections.iter().map(|section| (section.place, section.text.clone())).collect(),
            tools: self.request.tools.clone(),
            recipe: self.recipe.clone(),
        }
    }
}
