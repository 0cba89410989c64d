//! Providers that the environment brings. Their keys are held here only, never stored and never shown.

use secrecy::SecretString;
use url::Url;

use super::{ConfigError, layers::Layers, values as read};

#[derive(Debug, Clone, Default)]
pub struct ProviderEnv {
    pub openai_api_key: Option<SecretString>,
    /// An OpenAI-compatible server; it may need no key.
    pub openai_base_url: Option<Url>,
    pub anthropic_api_key: Option<SecretString>,
    pub gemini_api_key: Option<SecretString>,
    pub openrouter_api_key: Option<SecretString>,
    /// The root of Ollama's API, without a path.
    pub ollama_host: Option<Url>,
}

impl ProviderEnv {
    pub(super) fn read(layers: &Layers) -> Result<Self, ConfigError> {
        Ok(Self {
            openai_api_key: layers.value("openai_api_key", read::key)?,
            openai_base_url: layers.value("openai_base_url", read::http_url)?,
            anthropic_api_key: layers.value("anthropic_api_key", read::key)?,
            gemini_api_key: layers.value("gemini_api_key", read::key)?,
            openrouter_api_key: layers.value("openrouter_api_key", read::key)?,
            ollama_host: layers.value("ollama_host", read::ollama)?,
        })
    }

    /// The variables that bring a Provider, for people.
    pub fn names(&self) -> Vec<&'static str> {
        [
            ("OPENAI_API_KEY", self.openai_api_key.is_some()),
            ("OPENAI_BASE_URL", self.openai_base_url.is_some()),
            ("ANTHROPIC_API_KEY", self.anthropic_api_key.is_some()),
            ("GEMINI_API_KEY", self.gemini_api_key.is_some()),
            ("OPENROUTER_API_KEY", self.openrouter_api_key.is_some()),
            ("OLLAMA_HOST", self.ollama_host.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, set)| set.then_some(name))
        .collect()
    }
}
