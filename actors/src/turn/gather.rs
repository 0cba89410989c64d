//! What the capabilities bring to one speaker's part: all are asked at the same time, none may take long, and one that
//! fails or panics is left out and named in the prompt's note. Kept for all steps of the part.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::join_all};

use super::toolbox::Toolbox;
use crate::{
    capability::{Capability, Contribution, Scene},
    policy::prompt::{Section, identity, instructions, ordered, unreachable},
};

/// For each capability. A turn's first token waits for the slowest.
const PATIENCE: Duration = Duration::from_secs(3);
/// Tools of one part at most: beyond it a request is refused by most Providers.
const TOOLS: usize = 128;

#[derive(Debug)]
pub struct Gathered {
    pub scene: Arc<Scene>,
    /// In their order; the summary is not among them, because the window decides on it.
    pub sections: Vec<Section>,
    pub toolbox: Toolbox,
}

pub async fn gather(capabilities: &[Arc<dyn Capability>], scene: Arc<Scene>) -> Gathered {
    let asked = capabilities.iter().map(|capability| {
        let scene = Arc::clone(&scene);
        let contribution = AssertUnwindSafe(async move { capability.gather(scene).await }).catch_unwind();
        async move { (capability.name(), tokio::time::timeout(PATIENCE, contribution).await) }
    });
    let mut all = Contribution::default();
    for (name, outcome) in join_all(asked).await {
        match outcome {
            Ok(Ok(Ok(Contribution { sections, tools, unreachable }))) => {
                all.sections.extend(sections);
                all.tools.extend(tools);
                all.unreachable.extend(unreachable);
                continue;
            }
            Ok(Ok(Err(error))) => tracing::warn!(capability = name, %error, "left out of this turn"),
            Ok(Err(_panic)) => tracing::error!(capability = name, "panicked, and is left out of this turn"),
            Err(_late) => tracing::warn!(capability = name, "did not answer in time, and is left out of this turn"),
        }
        all.unreachable.push(name.to_owned());
    }
    let mut sections = vec![identity::section(&scene.npc)];
    sections.extend(instructions::section(&scene.npc));
    sections.extend(unreachable::section(&all.unreachable));
    sections.extend(all.sections);
    let mut tools = all.tools;
    tools.retain(|tool| scene.grants.iter().any(|grant| grant.tool == tool.key()));
    if tools.len() > TOOLS {
        tracing::warn!(npc = %scene.npc.slug, granted = tools.len(), "more tools are granted than a request may name");
        tools.truncate(TOOLS);
    }
    let toolbox = Toolbox::of(tools, &scene.grants);
    Gathered { sections: ordered(sections), toolbox, scene }
}
