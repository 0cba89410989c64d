//! What an operator alarms on, in Prometheus's words. Each server has a registry of its own, handed to whoever counts:
//! nothing is global, so that several servers in one process count for themselves. No label names a Player or a
//! Conversation, and every label's values are bounded.

pub mod engine;
mod genai;
pub mod http;
mod process;
pub mod store;
mod turns;
pub mod village;

use std::sync::Arc;

use prometheus_client::{
    encoding::prometheus_text,
    metrics::{histogram::exponential_buckets, info::Info},
    registry::Registry,
};

use crate::store::SCHEMA_VERSION;
use engine::EngineMetrics;
use http::HttpMetrics;
use store::StoreMetrics;
use turns::Turns;
use village::VillageMetrics;

/// What `/metrics` answers with.
pub const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// All that one server counts.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    pub engine: Arc<EngineMetrics>,
    pub store: StoreMetrics,
    pub http: HttpMetrics,
    pub village: VillageMetrics,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let turns = Turns::default();
        let hamlet = registry.sub_registry_with_prefix("hamlet");
        let build = [("version", env!("CARGO_PKG_VERSION").to_owned()), ("schema", SCHEMA_VERSION.to_string())];
        hamlet.register("build", "The version that runs, and the schema of its store", Info::new(build.to_vec()));
        turns.register(hamlet);
        let store = StoreMetrics::new(turns.clone());
        store.register(hamlet);
        let http = HttpMetrics::default();
        http.register(hamlet);
        let village = VillageMetrics::default();
        village.register(hamlet);
        let engine = Arc::new(EngineMetrics::new(turns));
        engine.register(&mut registry);
        registry.register_collector(Box::new(process::Process));
        Self { registry, engine, store, http, village }
    }
}

impl Metrics {
    /// Everything as it is now, in the text format that scrapers read.
    ///
    /// # Errors
    /// None in practice: it is written to memory.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Seconds, from a quarter of a millisecond to two minutes.
fn seconds() -> impl Iterator<Item = f64> {
    exponential_buckets(0.000_25, 2.0, 20)
}

/// Seconds of what takes microseconds when all is well, up to one and a half.
fn short_seconds() -> impl Iterator<Item = f64> {
    exponential_buckets(0.000_05, 2.0, 16)
}
