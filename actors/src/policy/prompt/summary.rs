//! The rolling summary: what was said before the window begins.

use super::{Place, Section};
use crate::vocabulary::Summary;

pub fn section(summary: Option<&Summary>) -> Option<Section> {
    let text = summary?.text.trim();
    (!text.is_empty()).then(|| Section {
        place: Place::Summary,
        text: format!("# Earlier in this conversation\nA summary of what was said before the messages below:\n{text}"),
    })
}
