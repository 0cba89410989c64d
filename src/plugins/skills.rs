//! Skills: instructions that are loaded when they are needed. The prompt holds an index of names and descriptions; what a
//! skill says, and the texts beside it, come by tool calls. A skill grants nothing and runs nothing.

pub mod archive;
mod bundle;
mod folder;
pub mod form;
mod shelf;
mod tools;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use hamlet_actors::{
    capability::{Capability, CapabilityError, Contribution, Offer, Scene, Section},
    policy::prompt::{SECTION_LIMIT, skills::section},
    ports::Tool,
    vocabulary::SkillHead,
};

pub use folder::Problem;
pub use shelf::{Changes, Shelf};
use tools::{LOAD_SKILL, LoadSkill, ReadSkillFile};

use crate::store::{Store, skills as rows};

/// Skills that the index names at most.
const INDEX_MAX: usize = 100;
/// Characters of the section that are kept for its heading, and for the line about what it has no room for.
const INDEX_SLACK: usize = 300;

#[derive(Debug)]
pub struct Skills {
    store: Store,
}

impl Skills {
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![Arc::new(LoadSkill::new(self.store.clone())), Arc::new(ReadSkillFile::new(self.store.clone()))]
    }
}

impl Capability for Skills {
    fn name(&self) -> &'static str {
        "skills"
    }

    fn catalog(&self) -> Vec<Offer> {
        let offer = |tool: Arc<dyn Tool>| Offer { key: tool.key().to_owned(), spec: tool.spec().clone() };
        self.tools().into_iter().map(offer).collect()
    }

    fn gather(&self, scene: Arc<Scene>) -> BoxFuture<'static, Result<Contribution, CapabilityError>> {
        let (store, tools) = (self.store.clone(), self.tools());
        Box::pin(async move {
            let npc = scene.npc.id;
            let read =
                store.read(move |conn| Ok((rows::heads(conn, npc, INDEX_MAX)?, rows::count_in_scope(conn, npc)?)));
            let (heads, count) = read.await.map_err(|error| CapabilityError(error.to_string()))?;
            if heads.is_empty() {
                return Ok(Contribution::default());
            }
            // Who may not load one is not told of any.
            let may_load = scene.grants.iter().any(|grant| grant.tool == LOAD_SKILL);
            let sections = if may_load { index(heads, count).into_iter().collect() } else { Vec::new() };
            Ok(Contribution { sections, tools, unreachable: Vec::new() })
        })
    }
}

/// The index of as many skills as have room, in whole lines, and how many of the `count` in scope it leaves out.
fn index(mut heads: Vec<SkillHead>, count: usize) -> Option<Section> {
    let mut room = SECTION_LIMIT - INDEX_SLACK;
    let fitting = heads.iter().take_while(|head| {
        let length = head.name.chars().count() + head.description.chars().count() + 5;
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    });
    let fitting = fitting.count();
    heads.truncate(fitting);
    let mut section = section(&heads, LOAD_SKILL)?;
    let left_out = count.saturating_sub(heads.len());
    if left_out > 0 {
        section.text.push_str(&format!("\n({left_out} more have no room here; they can be loaded by name.)"));
    }
    Some(section)
}

#[cfg(test)]
mod tests;
