//! How a turn goes from one NPC to the next: how far it may go, and when two of them go round in circles.

use crate::vocabulary::{Hop, NpcId};

/// Hand-overs back and forth between the same two that are allowed; the one after them is refused.
const CIRCLE: u32 = 3;

/// How far hand-overs have gone in this turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passing {
    pub hop: Hop,
    /// How often, at the end, the turn went straight back to the one that it came from.
    pub back_and_forth: u32,
}

/// What becomes of the wish to hand over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Pass,
    /// The turn has had all its hand-overs (promise 14).
    LimitReached,
    /// The two have passed it back and forth too often: the speaker is told to close instead.
    Circle,
}

/// `trail`: who has spoken in this turn, in order, the present speaker last.
pub fn step(trail: &[NpcId], to: NpcId, hop: Hop) -> Step {
    if hop.count >= hop.limit {
        return Step::LimitReached;
    }
    let mut next = trail.to_vec();
    next.push(to);
    if back_and_forth(&next) > CIRCLE { Step::Circle } else { Step::Pass }
}

pub fn back_and_forth(trail: &[NpcId]) -> u32 {
    let returns = trail.windows(3).rev().take_while(|three| three[0] == three[2]).count();
    u32::try_from(returns).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn trail(letters: &str) -> Vec<NpcId> {
        letters.bytes().map(|letter| NpcId(Uuid::from_u128(u128::from(letter)))).collect()
    }

    fn to(letter: &str) -> NpcId {
        trail(letter)[0]
    }

    #[test]
    fn going_back_is_counted_from_the_end() {
        for (letters, returns) in
            [("", 0), ("a", 0), ("ab", 0), ("aba", 1), ("abab", 2), ("cab", 0), ("abac", 0), ("cbaba", 2)]
        {
            assert_eq!(back_and_forth(&trail(letters)), returns, "{letters}");
        }
    }

    #[test]
    fn two_who_go_round_in_circles_are_stopped_and_three_are_not() {
        let hop = Hop { count: 4, limit: 20 };
        assert_eq!(step(&trail("abab"), to("a"), hop), Step::Pass);
        assert_eq!(step(&trail("ababa"), to("b"), hop), Step::Circle);
        assert_eq!(step(&trail("ababa"), to("c"), hop), Step::Pass);
        assert_eq!(step(&trail("abcabc"), to("a"), hop), Step::Pass);
    }

    #[test]
    fn promise_14_the_limit_counts_hand_overs() {
        assert_eq!(step(&trail("a"), to("b"), Hop { count: 5, limit: 6 }), Step::Pass);
        assert_eq!(step(&trail("a"), to("b"), Hop { count: 6, limit: 6 }), Step::LimitReached);
        assert_eq!(step(&trail("a"), to("b"), Hop { count: 0, limit: 0 }), Step::LimitReached);
    }
}
