//! Who said what. In a Party every colleague's earlier reply carries its name, folded into the text; a solo history is
//! byte-identical to what was said (promise 15). Names come from the record, never from the text.

use super::said::{Said, Utterance};

/// What another NPC's reply comes to for who hears it: its words under its name, then what it passed on, if it did. Calls
/// and their results are its own affair.
pub fn overheard(said: &Said) -> String {
    let name = &said.author.name;
    let mut lines = Vec::new();
    if !said.text.trim().is_empty() {
        lines.push(format!("[{name}]: {}", said.text));
    }
    for part in said.parts.iter() {
        if let Utterance::HandOver { to, message } = part {
            lines.push(format!("[{name} to {to}]: {message}"));
        }
    }
    lines.join("\n\n")
}
