//! Leave for an NPC to call a tool. What nobody granted does not exist for the model (promise 12).

use serde::{Deserialize, Serialize};

/// One tool that one NPC may call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Grant {
    /// The tool's key: `calculate`, or `files/read_file` for a tool of the tool server `files`.
    pub tool: String,
    #[serde(default)]
    pub approval: Approval,
}

/// Whether somebody is asked before a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    #[default]
    Never,
    /// Each call waits until the Player says yes or no, or until it expires.
    Always,
}
