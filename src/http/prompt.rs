//! What a model is told: now, and for each step of a reply that was made. Nobody should have to guess.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Query, State},
    response::{IntoResponse, Response},
    routing::get,
};
use hamlet_actors::{
    policy::{
        prompt::{Place, tokens},
        repair::{Asked, request_items},
        said::Said,
    },
    ports::{Recipe, RequestItem, ToolSpec},
    vocabulary::{Body, ConversationId, MessageId, ModelParams, NpcId, ProviderId},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{error::ApiError, extract::Id};
use crate::{
    app::App,
    auth::Who,
    gates::admit,
    store::{
        StoreError, conversations, history, messages,
        prompts::{self, KeptPrompt},
    },
};

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/conversations/{id}/prompt", get(now)).route("/api/messages/{id}/prompt", get(then))
}

/// One request as a person reads it. Tokens are estimates: four characters each.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    npc_id: NpcId,
    provider_id: ProviderId,
    model: String,
    params: ModelParams,
    sections: Vec<ShownSection>,
    tools: Vec<ShownTool>,
    messages: Vec<ShownItem>,
    tokens: Tokens,
    /// The version of the summary that is among the sections.
    summary_version: Option<u64>,
}

#[derive(Debug, Serialize)]
struct ShownSection {
    place: Place,
    text: String,
    tokens: usize,
}

#[derive(Debug, Serialize)]
struct ShownTool {
    name: String,
    description: String,
    parameters: Value,
    tokens: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownItem {
    /// user, assistant, or tool.
    role: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    tokens: usize,
}

#[derive(Debug, Serialize)]
struct Tokens {
    sections: usize,
    tools: usize,
    messages: usize,
    total: usize,
}

impl Shown {
    fn of(sections: Vec<(Place, String)>, tools: Vec<ToolSpec>, items: Vec<RequestItem>, recipe: Recipe) -> Self {
        let sections: Vec<ShownSection> =
            sections.into_iter().map(|(place, text)| ShownSection { place, tokens: tokens(&text), text }).collect();
        let tools: Vec<ShownTool> = tools.into_iter().map(shown_tool).collect();
        let messages: Vec<ShownItem> = items.into_iter().map(shown_item).collect();
        let sum = (
            sections.iter().map(|section| section.tokens).sum::<usize>(),
            tools.iter().map(|tool| tool.tokens).sum::<usize>(),
            messages.iter().map(|item| item.tokens).sum::<usize>(),
        );
        Self {
            npc_id: recipe.speaker,
            provider_id: recipe.provider_id,
            model: recipe.model,
            params: recipe.params,
            sections,
            tools,
            messages,
            tokens: Tokens { sections: sum.0, tools: sum.1, messages: sum.2, total: sum.0 + sum.1 + sum.2 },
            summary_version: recipe.summary_version,
        }
    }
}

fn shown_tool(ToolSpec { name, description, parameters }: ToolSpec) -> ShownTool {
    let tokens = tokens(&name) + tokens(&description) + tokens(&parameters.to_string());
    ShownTool { name, description, parameters, tokens }
}

fn shown_item(item: RequestItem) -> ShownItem {
    let plain = |role, text: String| ShownItem {
        role,
        tokens: tokens(&text),
        text,
        calls: Vec::new(),
        tool_call_id: None,
        is_error: None,
    };
    match item {
        RequestItem::User { text } => plain("user", text.to_string()),
        RequestItem::Assistant { text, calls, .. } => {
            let made: usize = calls.iter().map(|call| tokens(&call.name) + tokens(&call.arguments)).sum();
            let item = plain("assistant", text.to_string());
            let calls = calls
                .into_iter()
                .map(|call| json!({"id": call.id, "name": call.name, "arguments": call.arguments}))
                .collect();
            ShownItem { tokens: item.tokens + made, calls, ..item }
        }
        RequestItem::ToolResult { id, output, is_error, .. } => {
            ShownItem { tool_call_id: Some(id), is_error: Some(is_error), ..plain("tool", output) }
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NowQuery {
    npc_id: Option<NpcId>,
}

/// What would be sent if the NPC were asked now, before the Player's next text.
async fn now(
    who: Who,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Query(asked): Query<NowQuery>,
) -> Result<Response, ApiError> {
    let plan = admit::plan_now(&app, &who, id, asked.npc_id).await?;
    let preview = app.engine.preview(id, plan).await.map_err(|error| ApiError::internal(&error))?;
    let written = preview.written;
    let sections = written.sections.into_iter().map(|section| (section.place, section.text)).collect();
    let shown = Shown::of(sections, written.request.tools, written.request.items, written.recipe);
    Ok(axum::Json(shown).into_response())
}

/// What was sent for each step of a reply, in order. Empty for one from before this was kept.
async fn then(who: Who, Id(id): Id<MessageId>, State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let steps = app
        .store
        .read(move |conn| {
            let row = conversations::of_message(conn, id, who.id)?;
            let reply = messages::said(conn, row.key, id)?;
            let mut steps = Vec::new();
            for kept in prompts::of(conn, row.key, id)? {
                let mut told = Vec::new();
                for run in &kept.recipe.history {
                    told.extend(history::at(conn, row.key, *run)?);
                }
                steps.push(step(kept, &told, &reply));
            }
            Ok::<_, StoreError>(steps)
        })
        .await?;
    Ok(axum::Json(json!({"messageId": id, "steps": steps})).into_response())
}

#[derive(Debug, Serialize)]
struct Step {
    step: u32,
    #[serde(flatten)]
    shown: Shown,
}

/// Built as it was then, by the same rules.
fn step(kept: KeptPrompt, told: &[Arc<Said>], (reply, body): &(Said, Body)) -> Step {
    let KeptPrompt { step, sections, tools, recipe } = kept;
    let so_far = Body {
        parts: body.parts.iter().take(recipe.parts).cloned().collect(),
        opaque: body
            .opaque
            .range(..u32::try_from(recipe.parts).unwrap_or(u32::MAX))
            .map(|(at, one)| (*at, one.clone()))
            .collect(),
    };
    let so_far =
        (recipe.parts > 0).then(|| Said::of(reply.message, reply.position, reply.role, reply.author.clone(), &so_far));
    let asked = Asked {
        speaker: recipe.speaker,
        in_party: recipe.in_party,
        provider: recipe.provider_id,
        model: &recipe.model,
    };
    let question: Option<Arc<str>> = recipe.question.as_deref().map(Arc::from);
    let items = request_items(told, question.as_ref(), so_far.as_ref(), asked);
    Step { step, shown: Shown::of(sections, tools, items, recipe) }
}
