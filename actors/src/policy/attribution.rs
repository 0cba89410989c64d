//! Who said what. In a Party every colleague's earlier reply carries its name, folded into the text; a solo history is
//! byte-identical to what was said (promise 15). Names come from the record, never from the text.

use super::said::{Said, Utterance};

/// What another NPC's reply comes to for who hears it: its words under its name, then what it passed on, if it did. Calls
/// and their results are its own affair.
pub fn overheard(said: &Said) -> String {
    let name = &said.author.name;
    let mut lines = Vec::new();
    let words = words(said);
    if !words.trim().is_empty() {
        lines.push(format!("[{name}]: {words}"));
    }
    for part in said.parts.iter() {
        if let Utterance::HandOver { to, message } = part {
            lines.push(format!("[{name} to {to}]: {message}"));
        }
    }
    lines.join("\n\n")
}

/// Words between which the speaker did something are not run together.
fn words(said: &Said) -> String {
    if said.parts.is_empty() {
        return said.text.to_string();
    }
    let mut steps: Vec<String> = vec![String::new()];
    for part in said.parts.iter() {
        match (part, steps.last_mut()) {
            (Utterance::Words(text), Some(step)) => step.push_str(text),
            (Utterance::Result { .. }, _) => steps.push(String::new()),
            _ => {}
        }
    }
    steps.retain(|step| !step.trim().is_empty());
    steps.join("\n\n")
}
