//! Calls of Providers under the names and labels of OpenTelemetry's conventions for generative AI, as their Prometheus
//! form writes them. Who may name models may name any number of them, so that only so many become labels.

use std::sync::atomic::{AtomicUsize, Ordering};

use hamlet_actors::ports::observer::{CallOutcome, ProviderCall};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};

/// Pairs of Provider and model that become labels; further ones are counted together.
const MODELS: usize = 100;
const OTHER: &str = "other";
/// The boundaries that the conventions ask for.
const SECONDS: [f64; 14] = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Model {
    gen_ai_operation_name: &'static str,
    gen_ai_provider_name: String,
    gen_ai_request_model: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    #[prometheus(flatten)]
    model: Model,
    /// Empty where nothing went wrong.
    error_type: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Tokens {
    #[prometheus(flatten)]
    model: Model,
    gen_ai_token_type: &'static str,
}

#[derive(Debug)]
pub struct GenAi {
    durations: Family<Call, Histogram>,
    first_chunks: Family<Model, Histogram>,
    tokens: Family<Tokens, Histogram>,
    /// How many models have become labels.
    named: AtomicUsize,
}

impl Default for GenAi {
    fn default() -> Self {
        Self {
            durations: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            first_chunks: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            tokens: Family::new_with_constructor(|| Histogram::new(TOKENS)),
            named: AtomicUsize::new(0),
        }
    }
}

impl GenAi {
    pub fn register(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "gen_ai_client_operation_duration",
            "From a Provider's request to the end of its stream",
            Unit::Seconds,
            self.durations.clone(),
        );
        registry.register_with_unit(
            "gen_ai_client_operation_time_to_first_chunk",
            "From a Provider's request to the first piece of its reply",
            Unit::Seconds,
            self.first_chunks.clone(),
        );
        registry.register(
            "gen_ai_client_token_usage",
            "Tokens of a call, as the Provider reported them",
            self.tokens.clone(),
        );
    }

    pub fn call(&self, call: &ProviderCall<'_>) {
        let model = self.model(call.provider, call.model);
        {
            // Made for a call without one, too: this family knows all models that became labels.
            let first_chunks = self.first_chunks.get_or_create(&model);
            if let Some(first) = call.first_delta {
                first_chunks.observe(first.as_secs_f64());
            }
        }
        let usage = call.usage.unwrap_or_default();
        for (kind, tokens) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
            if let Some(tokens) = tokens {
                let labels = Tokens { model: model.clone(), gen_ai_token_type: kind };
                self.tokens.get_or_create(&labels).observe(tokens as f64);
            }
        }
        let error_type = match call.outcome {
            CallOutcome::Complete => "",
            CallOutcome::Cancelled => "cancelled",
            CallOutcome::Failed(code) => code.as_str(),
        };
        self.durations.get_or_create(&Call { model, error_type }).observe(call.took.as_secs_f64());
    }

    fn model(&self, provider: &str, model: &str) -> Model {
        let named = |provider: &str, model: &str| Model {
            gen_ai_operation_name: "chat",
            gen_ai_provider_name: provider.to_owned(),
            gen_ai_request_model: model.to_owned(),
        };
        let known = named(provider, model);
        let is_label = self.first_chunks.get(&known).is_some();
        let one_more = |named: usize| (named < MODELS).then_some(named + 1);
        if is_label || self.named.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok() {
            return known;
        }
        named(OTHER, OTHER)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hamlet_actors::vocabulary::{ErrorCode, Usage};
    use prometheus_client::encoding::prometheus_text;

    use super::*;

    fn call<'a>(model: &'a str, first_delta: Option<Duration>, outcome: CallOutcome) -> ProviderCall<'a> {
        let usage = Usage { input_tokens: Some(7), output_tokens: None, ..Usage::default() };
        ProviderCall {
            provider: "Somebody",
            model,
            took: Duration::from_secs(1),
            first_delta,
            usage: Some(usage),
            outcome,
        }
    }

    fn text(genai: &GenAi) -> String {
        let mut registry = Registry::default();
        genai.register(&mut registry);
        let mut text = String::new();
        prometheus_text::encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn what_a_provider_did_not_report_is_not_counted() {
        let genai = GenAi::default();
        genai.call(&call("big", Some(Duration::from_millis(300)), CallOutcome::Failed(ErrorCode::ProviderTimeout)));
        let text = text(&genai);
        let model = r#"gen_ai_operation_name="chat",gen_ai_provider_name="Somebody",gen_ai_request_model="big""#;
        for line in [
            format!(r#"gen_ai_client_token_usage_sum{{{model},gen_ai_token_type="input"}} 7.0"#),
            format!(r#"gen_ai_client_operation_duration_seconds_count{{{model},error_type="PROVIDER_TIMEOUT"}} 1"#),
            format!(r#"gen_ai_client_operation_time_to_first_chunk_seconds_bucket{{{model},le="0.32"}} 1"#),
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains(r#"gen_ai_token_type="output""#), "{text}");
    }

    #[test]
    fn models_become_labels_up_to_a_number_whether_they_answer_or_not() {
        for first in [Some(Duration::ZERO), None] {
            let genai = GenAi::default();
            for n in 0..MODELS * 3 {
                genai.call(&call(&format!("model-{n}"), first, CallOutcome::Complete));
            }
            let models = text(&genai).matches("gen_ai_client_token_usage_count").count();
            assert!(models <= MODELS + 1, "{models} models are labels");
        }
    }
}
