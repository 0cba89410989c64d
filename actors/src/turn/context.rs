//! What the model is told: the system prompt and as much of the history as the window's budget allows.

use std::sync::Arc;

use super::TurnPlan;
use crate::{
    policy::{
        prompt::{assemble, identity, instructions, ordered},
        repair::{Asked, request_items},
        window::{CHARS_PER_TOKEN, Said, Window},
    },
    ports::{
        ModelRequest,
        journal::{Journal, JournalError},
    },
    village::WindowCache,
    vocabulary::ConversationId,
};

/// The history before `before_position` that fits the budget beside `reserved` characters, from the cache where it reaches just up to there, else from the store.
pub async fn window(
    conversation: ConversationId,
    before_position: i64,
    budget_tokens: usize,
    reserved: usize,
    journal: &dyn Journal,
    windows: &WindowCache,
) -> Result<Arc<Window>, JournalError> {
    let cached = windows.get(conversation).filter(|window| window.reaches(before_position));
    let mut window = match cached {
        Some(window) if window.fits(budget_tokens, reserved) => return Ok(window),
        Some(window) => (*window).clone(),
        None => {
            let chars = budget_tokens.saturating_mul(CHARS_PER_TOKEN);
            Window::of(journal.history(conversation, before_position, chars).await?)
        }
    };
    window.fit(budget_tokens, reserved);
    let window = Arc::new(window);
    // The cut is kept, so that the next request begins as this one does.
    windows.put(conversation, Arc::clone(&window));
    Ok(window)
}

/// The request, complete.
pub fn request(plan: &TurnPlan, history: &[Arc<Said>]) -> ModelRequest {
    let sections =
        [Some(identity::section(&plan.npc)), instructions::section(&plan.npc)].into_iter().flatten().collect();
    let asked =
        Asked { speaker: plan.npc.id, in_party: plan.in_party, provider: plan.provider.id(), model: &plan.model };
    ModelRequest {
        model: plan.model.clone(),
        system: assemble(&ordered(sections)).into(),
        items: request_items(history, plan.question.as_ref(), None, asked),
        tools: Vec::new(),
        params: plan.npc.params.clone(),
    }
}
