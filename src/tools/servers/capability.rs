//! Tool servers as the engine sees them.

use std::sync::Arc;

use futures_util::future::{BoxFuture, join_all};
use hamlet_actors::capability::{Capability, CapabilityError, Contribution, Offer, Scene};

use super::{ToolServers, contribution::contribution, server::Server};

impl Capability for ToolServers {
    fn name(&self) -> &'static str {
        "tool-servers"
    }

    fn catalog(&self) -> Vec<Offer> {
        let mut offers = Vec::new();
        for server in self.servers.borrow().iter() {
            for tool in server.state.borrow().tools.iter() {
                let offered = tool.offered();
                offers.push(Offer { key: offered.key.clone(), spec: offered.spec.clone() });
            }
        }
        offers
    }

    fn gather(&self, scene: Arc<Scene>) -> BoxFuture<'static, Result<Contribution, CapabilityError>> {
        let mut granted: Vec<Arc<Server>> = Vec::new();
        for server in self.servers.borrow().iter() {
            // Of two that want one name, the first has it.
            let has_it = granted.iter().any(|other| other.name == server.name);
            if !has_it && scene.may_call(&format!("{}/", server.name)) {
                granted.push(Arc::clone(server));
            }
        }
        let patience = self.limits.first;
        Box::pin(async move {
            // All at once: together they cost no more than one.
            join_all(granted.iter().map(|server| server.tried_within(patience))).await;
            let known = granted.iter().map(|server| (server.name.as_str(), server.state()));
            Ok(contribution(&scene.grants, known))
        })
    }
}
