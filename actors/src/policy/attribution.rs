//! Who said what. In a Party every colleague's earlier reply carries its name, folded into the text; a solo history is
//! byte-identical to what was said (promise 15).

use std::sync::Arc;

use super::window::Said;
use crate::vocabulary::{NpcId, Role};

/// The text of `said` as `speaker` reads it.
pub fn attributed(said: &Said, speaker: NpcId, in_party: bool) -> Arc<str> {
    let colleague = in_party && said.role == Role::Npc && said.author.id != speaker.to_string();
    if colleague { format!("[{}]: {}", said.author.name, said.text).into() } else { Arc::clone(&said.text) }
}
