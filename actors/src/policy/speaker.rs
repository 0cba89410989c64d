//! Who answers first.

use crate::vocabulary::{Npc, NpcId};

/// The NPC addressed (by `to`, or `@Name` at the beginning), else the only one, else the one who spoke last, else the
/// first of the Party. None when nobody is there, or when `to` names someone who is not.
pub fn first_speaker<'a>(
    party: &'a [Npc],
    to: Option<NpcId>,
    text: &str,
    spoke_last: Option<NpcId>,
) -> Option<&'a Npc> {
    if let Some(to) = to {
        return party.iter().find(|npc| npc.id == to);
    }
    addressed(party, text).or_else(|| party.iter().find(|npc| Some(npc.id) == spoke_last)).or_else(|| party.first())
}

/// The NPC whose name or slug follows an `@` at the very beginning; the longest name wins ("@Ann Marie" over "@Ann").
fn addressed<'a>(party: &'a [Npc], text: &str) -> Option<&'a Npc> {
    let rest = text.trim_start().strip_prefix('@')?.to_lowercase();
    party
        .iter()
        .flat_map(|npc| [(npc, npc.name.to_lowercase()), (npc, npc.slug.to_lowercase())])
        .filter(|(_, name)| !name.is_empty() && follows(&rest, name))
        .max_by_key(|(_, name)| name.len())
        .map(|(npc, _)| npc)
}

/// The one of this name or slug, whatever its case.
pub fn named<'a>(party: &'a [Npc], name: &str) -> Option<&'a Npc> {
    let name = name.trim().trim_start_matches('@').to_lowercase();
    let is = |npc: &&Npc| npc.name.to_lowercase() == name || npc.slug.to_lowercase() == name;
    party.iter().find(is)
}

fn follows(rest: &str, name: &str) -> bool {
    rest.strip_prefix(name)
        .is_some_and(|after| !after.chars().next().is_some_and(|next| next.is_alphanumeric() || next == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::ModelParams;
    use uuid::Uuid;

    fn npc(n: u128, name: &str) -> Npc {
        Npc {
            id: NpcId(Uuid::from_u128(n)),
            slug: name.to_lowercase().replace(' ', "-"),
            name: name.into(),
            job_title: String::new(),
            description: String::new(),
            instructions: String::new(),
            provider_id: None,
            model: None,
            params: ModelParams::default(),
        }
    }

    #[test]
    fn the_one_addressed_answers_else_the_last_speaker_else_the_first() {
        let party = [npc(1, "Ann"), npc(2, "Ann Marie"), npc(3, "Bo")];
        let ask = |to: Option<u128>, text: &str, last: Option<u128>| {
            first_speaker(&party, to.map(|n| NpcId(Uuid::from_u128(n))), text, last.map(|n| NpcId(Uuid::from_u128(n))))
                .map(|npc| npc.name.clone())
        };
        assert_eq!(ask(Some(3), "@Ann hi", None).as_deref(), Some("Bo"));
        assert_eq!(ask(Some(9), "hi", None), None);
        assert_eq!(ask(None, "@ann marie, hi", None).as_deref(), Some("Ann Marie"));
        assert_eq!(ask(None, "@ANN hi", Some(3)).as_deref(), Some("Ann"));
        assert_eq!(ask(None, "@Anna hi", Some(3)).as_deref(), Some("Bo"));
        assert_eq!(ask(None, "mail me @Ann", None).as_deref(), Some("Ann"));
        assert_eq!(ask(None, "hi", Some(3)).as_deref(), Some("Bo"));
        assert_eq!(ask(None, "hi", Some(8)).as_deref(), Some("Ann"));
    }

    #[test]
    fn an_empty_conversation_has_no_speaker() {
        assert!(first_speaker(&[], None, "hi", None).is_none());
    }
}
