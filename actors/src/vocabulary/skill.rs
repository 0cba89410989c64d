//! A skill as a prompt's index shows it: the instructions are loaded on demand.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillHead {
    pub name: String,
    pub description: String,
}
