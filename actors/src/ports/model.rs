//! A Provider and the model to ask it for, as one thing: what a role resolves to.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;

use super::{End, ModelRequest, Provider, ProviderEvent, RequestItem};
use crate::vocabulary::{Delta, ModelParams};

#[derive(Debug, Clone)]
pub struct Model {
    pub provider: Arc<dyn Provider>,
    pub name: String,
}

/// Why a model gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    #[error("the model did not answer in time")]
    Late,
    #[error("the model's answer was cut off, or empty")]
    Cut,
    #[error("{0}")]
    Failed(String),
}

impl Model {
    /// One question without a history, answered in words; for titles, summaries and the like.
    ///
    /// # Errors
    /// No complete answer within the time.
    pub async fn answer(
        &self,
        instructions: &str,
        question: &str,
        max_tokens: u32,
        within: Duration,
    ) -> Result<String, NoAnswer> {
        let request = ModelRequest {
            model: self.name.clone(),
            system: instructions.into(),
            items: vec![RequestItem::User { text: question.into() }],
            tools: Vec::new(),
            params: ModelParams { max_output_tokens: Some(max_tokens), ..ModelParams::default() },
        };
        let mut events = self.provider.ask(request);
        let mut text = String::new();
        let reading = async {
            while let Some(read) = events.next().await {
                for event in read {
                    match event {
                        ProviderEvent::Delta(Delta::Text(more)) => text.push_str(&more),
                        ProviderEvent::Delta(_) | ProviderEvent::Usage(_) => {}
                        ProviderEvent::End(End::Complete(_)) if !text.trim().is_empty() => return Ok(()),
                        ProviderEvent::End(End::Complete(_) | End::Truncated) => return Err(NoAnswer::Cut),
                        ProviderEvent::End(End::Failed(failure)) => return Err(NoAnswer::Failed(failure.message)),
                    }
                }
            }
            Err(NoAnswer::Cut)
        };
        tokio::time::timeout(within, reading).await.map_err(|_| NoAnswer::Late)??;
        Ok(text)
    }
}
