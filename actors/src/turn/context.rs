//! What the model is told: the system prompt, and of what was said as much as the window's budget allows. What falls off is
//! in the stored summary before the request goes out.

use std::{sync::Arc, time::Duration};

use super::{gather::Gathered, task::Site};
use crate::{
    policy::{
        prompt::{self, Section, assemble, ordered},
        repair::{Asked, request_items},
        said::Said,
        summary::{self, Extract},
        window::{CHARS_PER_TOKEN, Final, Window},
    },
    ports::{
        Kept, ModelRequest, PromptRecord, Recipe, SummaryDraft,
        journal::{JournalError, Told},
        prompts::runs,
    },
    village::Recent,
    vocabulary::{MessageId, Summary, SummaryMaker},
};

/// Messages that are sketched at a time when a long stretch is to be summarised at once.
const SKETCHES: usize = 500;
/// Another version of the summary came first, so often.
const TRIES: usize = 5;

/// What becomes of a summary that is made on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// It is stored before anything is sent.
    Stored,
    /// Nothing is sent, and nothing changed: somebody only looks.
    Pretended,
}

/// What was said before `before_position`, within the budget beside what is asked and what was done about it: from the
/// cache where it reaches just up to there, else from the store.
pub async fn recent(site: &Site, before_position: i64, keeping: Keeping) -> Result<Arc<Recent>, JournalError> {
    for _ in 0..TRIES {
        if let Some(recent) = fitted(site, before_position, keeping).await? {
            return Ok(recent);
        }
        site.ports.windows.forget(site.conversation);
    }
    Err(JournalError::Unavailable("the summary keeps changing".to_owned()))
}

/// None when the summary that this was made from does not hold any more.
async fn fitted(site: &Site, before_position: i64, keeping: Keeping) -> Result<Option<Arc<Recent>>, JournalError> {
    let (plan, ports) = (&site.plan, &site.ports);
    let budget = plan.window_tokens;
    let asked = plan.question.as_ref().map_or(0, |text| text.chars().count());
    let reserved = asked + site.progress.said.as_ref().map_or(0, |said| said.chars);
    let last = if plan.question.is_some() { Final::Outside } else { Final::Inside };
    let cached = ports.windows.get(site.conversation).filter(|recent| recent.reaches(before_position));
    let (mut recent, cut_before) = match cached {
        Some(recent) if recent.window.fits(budget, reserved) => return Ok(Some(recent)),
        Some(recent) => ((*recent).clone(), false),
        None => read(site, before_position, budget).await?,
    };
    if cut_before {
        let Some(summary) = summarise_gap(site, &recent, before_position, keeping).await? else { return Ok(None) };
        recent.summary = Some(Arc::new(summary));
    }
    let fell = recent.window.fit(budget, reserved, last);
    if let (Some(first), Some(newest)) = (fell.first(), fell.last()) {
        let mut extract = Extract::after(recent.summary.as_ref().map(|summary| summary.text.as_str()));
        fell.iter().for_each(|said| extract.add(said));
        let ids = fell.iter().map(|said| said.message).collect();
        let base = recent.summary.as_deref();
        let made_by = SummaryMaker::Extract;
        let draft = draft(before_position, base, first.position, newest.position, ids, extract.text(), made_by);
        let Some(summary) = keep(site, draft, keeping).await? else { return Ok(None) };
        recent.summary = Some(Arc::new(summary));
    }
    let recent = Arc::new(recent);
    if keeping == Keeping::Pretended {
        return Ok(Some(recent));
    }
    // The cut is kept, so that the next request begins as this one does.
    ports.windows.put(site.conversation, Arc::clone(&recent));
    Ok(Some(recent))
}

/// From the store; and whether something lies between the summary and what was read.
async fn read(site: &Site, before_position: i64, budget_tokens: usize) -> Result<(Recent, bool), JournalError> {
    let ports = &site.ports;
    let chars = budget_tokens.saturating_mul(CHARS_PER_TOKEN);
    let Told { summary, said, cut } = ports.world.journal.history(site.conversation, before_position, chars).await?;
    Ok((Recent { summary: summary.map(Arc::new), window: Window::of(said) }, cut))
}

/// What lies between the summary and the window, however long it is: read in short pieces, and never held whole.
async fn summarise_gap(
    site: &Site,
    recent: &Recent,
    before_position: i64,
    keeping: Keeping,
) -> Result<Option<Summary>, JournalError> {
    let base = recent.summary.as_deref();
    let end = recent.window.said().first().map_or(before_position, |said| said.position);
    let mut after = base.map_or(-1, |summary| summary.through_position);
    let mut extract = Extract::after(base.map(|summary| summary.text.as_str()));
    let mut ids = Vec::new();
    let mut first = None;
    loop {
        let sketches: Vec<Said> = site.ports.world.journal.sketches(site.conversation, after, end, SKETCHES).await?;
        let Some(newest) = sketches.last() else { break };
        after = newest.position;
        first = first.or(sketches.first().map(|said| said.position));
        for said in &sketches {
            extract.add(said);
            ids.push(said.message);
        }
    }
    match first {
        Some(first) => {
            let draft = draft(before_position, base, first, after, ids, extract.text(), SummaryMaker::Extract);
            keep(site, draft, keeping).await
        }
        None => Ok(base.cloned()),
    }
}

async fn keep(site: &Site, draft: SummaryDraft, keeping: Keeping) -> Result<Option<Summary>, JournalError> {
    if keeping == Keeping::Pretended {
        let SummaryDraft { text, from_position, through_position, made_by, .. } = draft;
        let created_at = site.ports.world.clock.now();
        return Ok(Some(Summary { version: 0, text, from_position, through_position, made_by, created_at }));
    }
    match site.ports.world.summaries.keep(site.conversation, draft).await? {
        Kept::Kept(summary) => Ok(Some(summary)),
        Kept::Overtaken => Ok(None),
    }
}

/// `first`: the place of the first of them.
fn draft(
    before_position: i64,
    base: Option<&Summary>,
    first: i64,
    through_position: i64,
    messages: Vec<MessageId>,
    text: String,
    made_by: SummaryMaker,
) -> SummaryDraft {
    SummaryDraft {
        base: base.map(|summary| summary.version),
        before_position,
        messages,
        text,
        from_position: base.map_or(first, |summary| summary.from_position),
        through_position,
        made_by,
    }
}

/// Beyond every place of a Message that was said.
pub const NOW: i64 = i64::MAX;

/// The time that a model may take over a summary that nobody waits for.
const SUMMARY_PATIENCE: Duration = Duration::from_secs(110);
/// Tokens of it at most, as the model counts them.
const SUMMARY_TOKENS: u32 = 700;

/// Summarises ahead of need what would fall off next, so that a turn almost never has to: by the utility model, in the
/// background. Nothing is kept when the window has room, when the model gives no answer, or when somebody came first.
pub async fn summarise_ahead(site: &Site) -> Result<(), JournalError> {
    let (plan, ports) = (&site.plan, &site.ports);
    let (Some(model), Some(recent)) = (&plan.utility, ports.windows.peek(site.conversation)) else { return Ok(()) };
    let falls = summary::due(&recent.window, plan.window_tokens);
    let (Some(first), Some(newest)) = (falls.first(), falls.last()) else { return Ok(()) };
    let base = recent.summary.as_deref();
    let mut names: Vec<&str> = plan.party.iter().map(|npc| npc.name.as_str()).collect();
    names.insert(0, &plan.player.name);
    let instructions = summary::instructions(&names.join(", "));
    let material = summary::material(base.map(|summary| summary.text.as_str()), &falls);
    let answer = model.answer(&instructions, &material, SUMMARY_TOKENS, SUMMARY_PATIENCE).await;
    let text = match answer {
        Ok(text) => summary::bounded(&text),
        Err(error) => {
            tracing::info!(%error, conversation = %site.conversation, "no summary ahead of need");
            return Ok(());
        }
    };
    let ids = falls.iter().map(|said| said.message).collect();
    let draft = draft(NOW, base, first.position, newest.position, ids, text, SummaryMaker::Model);
    if keep(site, draft, Keeping::Stored).await?.is_some() {
        // The next turn reads it, and begins behind it.
        ports.windows.forget(site.conversation);
    }
    Ok(())
}

/// A request, complete, and what it is put together from.
pub struct Written {
    pub request: ModelRequest,
    pub sections: Vec<Section>,
    pub recipe: Recipe,
}

pub fn write(site: &Site, recent: &Recent, gathered: &Gathered) -> Written {
    let (plan, progress) = (&site.plan, &site.progress);
    let asked =
        Asked { speaker: plan.npc.id, in_party: plan.in_party(), provider: plan.provider.id(), model: &plan.model };
    let mut sections = gathered.sections.clone();
    sections.extend(prompt::summary::section(recent.summary.as_deref()));
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
    pub fn record(&self, site: &Site) -> PromptRecord {
        PromptRecord {
            conversation: site.conversation,
            message: site.progress.message,
            step: site.progress.step,
            sections: self.sections.iter().map(|section| (section.place, section.text.clone())).collect(),
            tools: self.request.tools.clone(),
            recipe: self.recipe.clone(),
        }
    }
}
