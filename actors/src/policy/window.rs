//! How much of the history a model gets: whole exchanges from the tail under a token budget, the final turn always. The
//! cut moves in steps, so that the beginning of the request stays the same from turn to turn and Providers' caches hit.

use std::sync::Arc;

pub use super::said::Said;
use crate::vocabulary::Role;

/// Characters that are counted as one token.
pub const CHARS_PER_TOKEN: usize = 4;

/// Where the final turn is, which stays whatever its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Final {
    /// It comes behind the window: every exchange in here may fall off.
    Outside,
    /// It is the window's last exchange.
    Inside,
}

/// The tail of a Conversation that is still said word by word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Window {
    said: Vec<Arc<Said>>,
    chars: usize,
}

impl Window {
    pub fn of(said: Vec<Arc<Said>>) -> Self {
        let chars = said.iter().map(|said| said.chars).sum();
        Self { said, chars }
    }

    pub fn said(&self) -> &[Arc<Said>] {
        &self.said
    }

    pub fn chars(&self) -> usize {
        self.chars
    }

    pub fn fits(&self, budget_tokens: usize, reserved: usize) -> bool {
        (self.chars + reserved).div_ceil(CHARS_PER_TOKEN) <= budget_tokens
    }

    pub fn push(&mut self, said: Arc<Said>) {
        self.chars += said.chars;
        self.said.push(said);
    }

    /// Bytes that this window holds in memory, about.
    pub fn weight(&self) -> usize {
        self.said.iter().map(|said| said.weight()).sum()
    }

    /// Brings the window under the budget, `reserved` characters for the final turn included: nothing happens within it;
    /// beyond it, the oldest exchanges fall off until three quarters of the budget are left. The final turn stays even
    /// when it alone exceeds the budget. Answers what fell off, oldest
    /// first.
    pub fn fit(&mut self, budget_tokens: usize, reserved: usize, last: Final) -> Vec<Arc<Said>> {
        if self.fits(budget_tokens, reserved) { Vec::new() } else { self.cut_down(budget_tokens, reserved, last) }
    }

    /// Lets the oldest exchanges fall off until three quarters of the budget are left. Answers them, oldest first.
    pub fn cut_down(&mut self, budget_tokens: usize, reserved: usize, last: Final) -> Vec<Arc<Said>> {
        let target = (budget_tokens / 4 * 3).saturating_mul(CHARS_PER_TOKEN);
        let mut starts = exchange_starts(&self.said);
        if last == Final::Outside {
            starts.push(self.said.len());
        }
        let mut cut = 0;
        for pair in starts.windows(2) {
            let &[from, to] = pair else { continue };
            if self.chars + reserved <= target {
                break;
            }
            self.chars -= self.said[from..to].iter().map(|said| said.chars).sum::<usize>();
            cut = to;
        }
        self.said.drain(..cut).collect()
    }
}

/// Where exchanges begin: at each Player's Message, and at the very first Message.
fn exchange_starts(said: &[Arc<Said>]) -> Vec<usize> {
    (0..said.len())
        .filter(|&at| at == 0 || (said[at].role == Role::Player && said[at - 1].role != Role::Player))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{Author, AuthorKind, MessageId};
    use uuid::Uuid;

    fn said(position: i64, role: Role, length: usize) -> Arc<Said> {
        let author = Author { kind: AuthorKind::Npc, id: "a".into(), name: "A".into() };
        let id = MessageId(Uuid::from_u128(u128::try_from(position).unwrap_or_default()));
        Arc::new(Said::new(id, position, role, author, &"x".repeat(length)))
    }

    fn tokens(window: &Window) -> usize {
        window.chars.div_ceil(CHARS_PER_TOKEN)
    }

    fn exchanges(count: i64, length: usize) -> Window {
        Window::of((0..count * 2).map(|n| said(n, if n % 2 == 0 { Role::Player } else { Role::Npc }, length)).collect())
    }

    #[test]
    fn within_the_budget_nothing_falls_off() {
        let mut window = exchanges(5, 40);
        assert_eq!(window.fit(100, 0, Final::Inside), vec![]);
        assert_eq!(tokens(&window), 100);
    }

    #[test]
    fn beyond_the_budget_whole_exchanges_fall_off_down_to_three_quarters() {
        let mut window = exchanges(6, 40);
        let gone = window.fit(100, 0, Final::Inside);
        assert_eq!(gone.iter().map(|said| said.position).collect::<Vec<_>>(), vec![0, 1, 2, 3, 4, 5]);
        assert_eq!(tokens(&window), 60);
        assert_eq!(window.said()[0].role, Role::Player);
    }

    #[test]
    fn the_cut_stays_where_it_is_until_the_budget_is_exceeded_again() {
        let mut window = exchanges(6, 40);
        window.fit(100, 0, Final::Inside);
        let first = window.said()[0].position;
        for n in 12..16 {
            window.push(said(n, if n % 2 == 0 { Role::Player } else { Role::Npc }, 40));
            assert_eq!(window.fit(100, 0, Final::Inside), vec![]);
            assert_eq!(window.said()[0].position, first);
        }
        window.push(said(16, Role::Player, 40));
        assert!(!window.fit(100, 0, Final::Inside).is_empty());
    }

    #[test]
    fn the_final_turn_stays_even_when_it_alone_exceeds_the_budget() {
        let mut window = exchanges(2, 40);
        window.push(said(4, Role::Player, 10_000));
        assert_eq!(window.fit(100, 0, Final::Inside).len(), 4);
        assert_eq!(window.said().len(), 1);
        assert_eq!(window.fit(100, 0, Final::Inside), vec![]);
        assert_eq!(window.fit(100, 10_000, Final::Outside).len(), 1);
    }
}
