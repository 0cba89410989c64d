//! In what a compatible server differs from the one it is compatible with. Data only: each quirk is read in one place
//! of an adapter, and an instance's settings can state any of them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

/// The switches of one Provider; all off is the plain protocol.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Quirks {
    /// The model writes its thoughts into the text, between `<think>` tags at its beginning.
    pub think_tags: bool,
    /// The reasoning of a turn that called tools has to be sent back.
    pub replay_reasoning: bool,
    /// The output limit is asked for as `max_completion_tokens`.
    pub max_completion_tokens: bool,
    /// The server refuses `stream_options`; it reports usage without being asked, or not at all.
    pub omit_stream_options: bool,
}

impl Quirks {
    /// What is known of the server at `base_url`: the settings that a new Provider starts with.
    pub fn known_of(base_url: &Url) -> Self {
        let host = base_url.host_str().unwrap_or_default();
        let is_at = |domain: &str| host == domain || host.strip_suffix(domain).is_some_and(|sub| sub.ends_with('.'));
        Self {
            think_tags: false,
            replay_reasoning: is_at("deepseek.com"),
            max_completion_tokens: is_at("openai.com") || is_at("openai.azure.com"),
            omit_stream_options: is_at("mistral.ai"),
        }
    }

    /// These switches with the stated ones over them. What states nothing that this build knows is left out.
    #[must_use]
    pub fn overridden_by(self, stated: &Map<String, Value>) -> Self {
        let Ok(Value::Object(mut switches)) = serde_json::to_value(&self) else { return self };
        for (name, value) in stated {
            if let Some(switch) = switches.get_mut(name).filter(|_| value.is_boolean()) {
                *switch = value.clone();
            }
        }
        serde_json::from_value(Value::Object(switches)).unwrap_or(self)
    }
}
