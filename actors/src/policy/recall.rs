//! Which memories come back to an NPC: what several indexes found, merged into one ranking, without near-copies and within
//! bounds. Knows no index: each brings candidates with scores on its own scale.

mod words;

use std::collections::{HashMap, HashSet};

use super::prompt::tokens;
use crate::vocabulary::{MemoryId, Recollection, Timestamp};
pub use words::{TERMS_LIMIT, key, pairs, terms};

/// A memory half this old counts three quarters of a new one, and a very old one a half: age decides between memories that
/// fit alike, and never buries the one that fits best.
const HALF_LIFE_MILLIS: f64 = 30.0 * 24.0 * 3_600_000.0;
/// Of the best score of its index: what is below shares no more than the words that everything shares.
const FLOOR: f64 = 0.1;
/// Shared words of two memories, of all their words: from here on they say the same.
const ALIKE: f64 = 0.8;

/// How much comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallLimits {
    pub memories: usize,
    /// Of all of them together, estimated as everything is.
    pub tokens: usize,
}

/// What goes into a prompt.
impl Default for RecallLimits {
    fn default() -> Self {
        Self { memories: 8, tokens: 1_000 }
    }
}

/// A memory that an index found.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub recollection: Recollection,
    /// Greater is better; on the index's own scale, and above zero.
    pub score: f64,
}

/// The best first. `indexes` holds what each index found, in any order. Scores are taken relative to the best of their
/// index, so that scales don't matter, and added where several indexes found the same memory.
pub fn ranked(indexes: Vec<Vec<Candidate>>, now: Timestamp, limits: RecallLimits) -> Vec<Recollection> {
    bounded(ordered(indexes, now).into_iter(), limits)
}

/// The same order with near-copies and without bounds: for whoever looks for what is kept, and not for what to say.
pub fn ordered(indexes: Vec<Vec<Candidate>>, now: Timestamp) -> Vec<Recollection> {
    let mut found = merged(indexes);
    for (recollection, score) in &mut found {
        *score *= freshness(now, recollection.updated_at);
    }
    // Ties go to what was written last, and then to the id, so that the order is one order.
    found.sort_by(|(a, of_a), (b, of_b)| {
        of_b.total_cmp(of_a).then(b.updated_at.cmp(&a.updated_at)).then(b.id.cmp(&a.id))
    });
    found.into_iter().map(|(recollection, _)| recollection).collect()
}

fn merged(indexes: Vec<Vec<Candidate>>) -> Vec<(Recollection, f64)> {
    let mut found: HashMap<MemoryId, (Recollection, f64)> = HashMap::new();
    for candidates in indexes {
        let best = candidates.iter().map(|candidate| candidate.score).fold(0.0, f64::max);
        if best <= 0.0 || !best.is_finite() {
            continue;
        }
        for Candidate { recollection, score } in candidates {
            let relative = score / best;
            if relative >= FLOOR {
                found.entry(recollection.id).or_insert((recollection, 0.0)).1 += relative;
            }
        }
    }
    found.into_values().collect()
}

/// From 1 for what was written now down to a half.
fn freshness(now: Timestamp, written: Timestamp) -> f64 {
    let age = now.as_millis().saturating_sub(written.as_millis()).max(0);
    0.5 + 0.5 * (-(age as f64) / HALF_LIFE_MILLIS).exp2()
}

/// One that does not fit is left out, and a shorter one behind it may still come.
fn bounded(best_first: impl Iterator<Item = Recollection>, limits: RecallLimits) -> Vec<Recollection> {
    let mut kept: Vec<Recollection> = Vec::new();
    let mut said: Vec<HashSet<String>> = Vec::new();
    let mut left = limits.tokens;
    for recollection in best_first {
        if kept.len() == limits.memories {
            break;
        }
        let words: HashSet<String> = words::normalised(&recollection.text).collect();
        let cost = tokens(&recollection.text);
        if cost > left || said.iter().any(|earlier| alike(earlier, &words)) {
            continue;
        }
        left -= cost;
        said.push(words);
        kept.push(recollection);
    }
    kept
}

fn alike(a: &HashSet<String>, b: &HashSet<String>) -> bool {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    all > 0 && shared as f64 / all as f64 >= ALIKE
}

#[cfg(test)]
mod tests;
