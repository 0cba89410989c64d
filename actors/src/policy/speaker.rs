//! Who answers first, and who then.

use crate::vocabulary::{Npc, NpcId, SpeakerPolicy};

/// The NPC addressed (by `to`, or `@Name` at the beginning), else the only one, else whom the policy names. None when
/// nobody is there, or when `to` names someone who is not.
pub fn first_speaker<'a>(
    party: &'a [Npc],
    policy: SpeakerPolicy,
    to: Option<NpcId>,
    text: &str,
    spoke_last: Option<NpcId>,
) -> Option<&'a Npc> {
    if let Some(to) = to {
        return party.iter().find(|npc| npc.id == to);
    }
    addressed(party, text).or_else(|| unaddressed(party, policy, spoke_last))
}

/// Who goes on by itself when a speaker's part has ended and nobody was handed the turn: with
/// [`SpeakerPolicy::EveryoneOnce`] the first of the Party who is not among those who have `spoken` in this turn.
pub fn next_in_turn<'a>(party: &'a [Npc], policy: SpeakerPolicy, spoken: &[NpcId]) -> Option<&'a Npc> {
    match policy {
        SpeakerPolicy::Addressed | SpeakerPolicy::RoundRobin => None,
        SpeakerPolicy::EveryoneOnce => party.iter().find(|npc| !spoken.contains(&npc.id)),
    }
}

fn unaddressed(party: &[Npc], policy: SpeakerPolicy, spoke_last: Option<NpcId>) -> Option<&Npc> {
    // One who has left the Party since has no place in its order.
    let last = party.iter().position(|npc| Some(npc.id) == spoke_last);
    match (policy, last) {
        (SpeakerPolicy::Addressed, Some(last)) => party.get(last),
        (SpeakerPolicy::RoundRobin, Some(last)) => party.get((last + 1) % party.len()),
        (SpeakerPolicy::Addressed | SpeakerPolicy::RoundRobin, None) | (SpeakerPolicy::EveryoneOnce, _) => {
            party.first()
        }
    }
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

    fn id(n: u128) -> NpcId {
        NpcId(Uuid::from_u128(n))
    }

    fn check(policy: SpeakerPolicy, to: Option<u128>, text: &str, last: Option<u128>) -> Option<String> {
        let party = [npc(1, "Ann"), npc(2, "Ann Marie"), npc(3, "Bo")];
        first_speaker(&party, policy, to.map(id), text, last.map(id)).map(|npc| npc.name.clone())
    }

    #[test]
    fn the_one_addressed_answers_else_the_last_speaker_else_the_first() {
        let ask = |to, text, last| check(SpeakerPolicy::Addressed, to, text, last);
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
    fn in_a_round_robin_the_next_one_answers_and_after_the_last_the_first() {
        let ask = |to, text, last| check(SpeakerPolicy::RoundRobin, to, text, last);
        assert_eq!(ask(None, "hi", None).as_deref(), Some("Ann"));
        assert_eq!(ask(None, "hi", Some(1)).as_deref(), Some("Ann Marie"));
        assert_eq!(ask(None, "hi", Some(2)).as_deref(), Some("Bo"));
        assert_eq!(ask(None, "hi", Some(3)).as_deref(), Some("Ann"));
        assert_eq!(ask(None, "hi", Some(8)).as_deref(), Some("Ann"), "who left has no place in the order");
        assert_eq!(ask(None, "@Bo hi", Some(1)).as_deref(), Some("Bo"));
        assert_eq!(ask(Some(1), "@Bo hi", Some(1)).as_deref(), Some("Ann"));
        assert_eq!(ask(Some(9), "hi", Some(1)), None);
        let alone = [npc(1, "Ann")];
        let again = first_speaker(&alone, SpeakerPolicy::RoundRobin, None, "hi", Some(id(1)));
        assert_eq!(again.map(|npc| npc.id), Some(id(1)));
    }

    #[test]
    fn where_everyone_answers_once_the_first_begins_whoever_spoke_last() {
        let ask = |to, text, last| check(SpeakerPolicy::EveryoneOnce, to, text, last);
        assert_eq!(ask(None, "hi", Some(2)).as_deref(), Some("Ann"));
        assert_eq!(ask(None, "@Bo hi", Some(2)).as_deref(), Some("Bo"));
        assert_eq!(ask(Some(2), "hi", None).as_deref(), Some("Ann Marie"));
        assert_eq!(ask(Some(9), "hi", None), None);
    }

    #[test]
    fn where_everyone_answers_once_those_who_have_not_spoken_follow_in_order() {
        let party = [npc(1, "Ann"), npc(2, "Ann Marie"), npc(3, "Bo")];
        let next = |policy, spoken: &[u128]| {
            let spoken: Vec<NpcId> = spoken.iter().copied().map(id).collect();
            next_in_turn(&party, policy, &spoken).map(|npc| npc.name.clone())
        };
        let once = SpeakerPolicy::EveryoneOnce;
        assert_eq!(next(once, &[1]).as_deref(), Some("Ann Marie"));
        assert_eq!(next(once, &[3]).as_deref(), Some("Ann"), "one addressed out of turn began");
        assert_eq!(next(once, &[3, 1]).as_deref(), Some("Ann Marie"));
        assert_eq!(next(once, &[1, 9, 1, 2]).as_deref(), Some("Bo"), "hand-overs and who left count as they are");
        assert_eq!(next(once, &[1, 2, 3]), None);
        assert_eq!(next(SpeakerPolicy::Addressed, &[1]), None);
        assert_eq!(next(SpeakerPolicy::RoundRobin, &[1]), None);
    }

    #[test]
    fn an_empty_conversation_has_no_speaker() {
        for policy in [SpeakerPolicy::Addressed, SpeakerPolicy::RoundRobin, SpeakerPolicy::EveryoneOnce] {
            assert!(first_speaker(&[], policy, None, "hi", None).is_none());
            assert!(first_speaker(&[], policy, None, "hi", Some(id(1))).is_none());
            assert!(next_in_turn(&[], policy, &[]).is_none());
        }
    }
}
