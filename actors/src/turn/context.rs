//! What the model is told: the system prompt and as much of the history as the window's budget allows.

use std::sync::Arc;

use super::{gather::Gathered, task::Task};
use crate::{
    policy::{
        prompt::assemble,
        repair::{Asked, request_items},
        window::{CHARS_PER_TOKEN, Final, Window},
    },
    ports::{ModelRequest, journal::JournalError},
};

/// The history before `before_position` that fits the budget beside what is asked and what was done about it, from the
/// cache where it reaches just up to there, else from the store.
pub async fn window(task: &Task, before_position: i64) -> Result<Arc<Window>, JournalError> {
    let (plan, ports) = (&task.plan, &task.ports);
    let budget = plan.window_tokens;
    let asked = plan.question.as_ref().map_or(0, |text| text.chars().count());
    let reserved = asked + task.progress.said.as_ref().map_or(0, |said| said.chars);
    let last = if plan.question.is_some() { Final::Outside } else { Final::Inside };
    let cached = ports.windows.get(task.conversation).filter(|window| window.reaches(before_position));
    let mut window = match cached {
        Some(window) if window.fits(budget, reserved) => return Ok(window),
        Some(window) => (*window).clone(),
        None => {
            let chars = budget.saturating_mul(CHARS_PER_TOKEN);
            Window::of(ports.journal.history(task.conversation, before_position, chars).await?)
        }
    };
    window.fit(budget, reserved, last);
    let window = Arc::new(window);
    // The cut is kept, so that the next request begins as this one does.
    ports.windows.put(task.conversation, Arc::clone(&window));
    Ok(window)
}

/// The request, complete.
pub fn request(task: &Task, window: &Window, gathered: &Gathered) -> ModelRequest {
    let (plan, progress) = (&task.plan, &task.progress);
    let asked =
        Asked { speaker: plan.npc.id, in_party: plan.in_party(), provider: plan.provider.id(), model: &plan.model };
    ModelRequest {
        model: plan.model.clone(),
        system: assemble(&gathered.sections).into(),
        items: request_items(window.said(), plan.question.as_ref(), progress.said.as_deref(), asked),
        tools: gathered.toolbox.specs(&progress.misfits),
        params: plan.npc.params.clone(),
    }
}
