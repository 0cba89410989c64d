//! An inhabitant of the Village, as a turn needs to know it.

use serde::{Deserialize, Serialize};

use super::{NpcId, ProviderId};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Npc {
    pub id: NpcId,
    pub slug: String,
    pub name: String,
    pub job_title: String,
    pub description: String,
    pub instructions: String,
    /// None: the Village's default Provider.
    pub provider_id: Option<ProviderId>,
    /// None: the default model, when the Provider is the default one.
    pub model: Option<String>,
    #[serde(default)]
    pub params: ModelParams,
}

/// What a model is asked for beside the text; what is absent is left to the Provider.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ModelParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
}
