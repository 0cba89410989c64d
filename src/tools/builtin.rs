//! The toolbox: small tools that need nobody else's server. One file each.

mod calculate;
mod current_time;
mod fetch_url;

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use hamlet_actors::{
    capability::{Capability, CapabilityError, Contribution, Offer, Scene},
    ports::{Clock, Tool},
};

use calculate::Calculate;
use current_time::CurrentTime;
use fetch_url::FetchUrl;
pub use fetch_url::{Reach, Reaching, VillageReach};

/// The capability.
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
}

impl Toolbox {
    pub fn new(clock: Arc<dyn Clock>, reaching: Arc<dyn Reaching>) -> Self {
        Self {
            tools: vec![
                Arc::new(CurrentTime::new(clock)),
                Arc::new(Calculate::default()),
                Arc::new(FetchUrl::new(reaching)),
            ],
        }
    }
}

impl Capability for Toolbox {
    fn name(&self) -> &'static str {
        "toolbox"
    }

    fn catalog(&self) -> Vec<Offer> {
        self.tools.iter().map(|tool| Offer { key: tool.key().to_owned(), spec: tool.spec().clone() }).collect()
    }

    fn gather(&self, _scene: Arc<Scene>) -> BoxFuture<'static, Result<Contribution, CapabilityError>> {
        let contribution = Contribution { tools: self.tools.clone(), ..Contribution::default() };
        Box::pin(ready(Ok(contribution)))
    }
}

fn text<'a>(arguments: &'a serde_json::Map<String, serde_json::Value>, field: &str) -> &'a str {
    arguments.get(field).and_then(serde_json::Value::as_str).map(str::trim).unwrap_or_default()
}
