//! Which actors are asked for, and which of them are a page: the newest Conversation first, so that a page stays as it is
//! while its actors are busy.

use std::collections::HashSet;

use hamlet_actors::{
    conversation::vitals::ActorState,
    vocabulary::{ConversationId, PlayerId},
};
use serde::Deserialize;

use crate::{
    http::{
        error::ApiError,
        page::{self, limit},
    },
    store::{Store, StoreError, oversight},
};

/// Actors of one page where nothing is asked for.
const DEFAULT: usize = 50;

/// As it is written in the address.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActorsQuery {
    limit: Option<usize>,
    after: Option<String>,
    /// One state, or several with commas.
    state: Option<String>,
    /// A Player's name or id.
    player: Option<String>,
}

/// As it is understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    pub limit: usize,
    pub after: Option<ConversationId>,
    /// None: in any state.
    pub states: Option<Vec<ActorState>>,
    pub owned: Owned,
}

/// Whose Conversations are wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum Owned {
    ByAnybody,
    /// By this Player, who owns these.
    By(PlayerId, HashSet<ConversationId>),
    /// By somebody who does not exist.
    ByNobody,
}

impl ActorsQuery {
    /// # Errors
    /// INVALID_BODY for a limit, cursor or state that is none; what the store answers.
    pub async fn understand(self, store: &Store) -> Result<Wanted, ApiError> {
        let limit = limit(self.limit, DEFAULT)?;
        let after = self.after.as_deref().map(page::decode).transpose()?;
        let states = self.state.as_deref().filter(|text| !text.is_empty()).map(states).transpose()?;
        let owned = match self.player.filter(|text| !text.is_empty()) {
            None => Owned::ByAnybody,
            Some(name) => store.read(move |conn| whose(conn, &name)).await?,
        };
        Ok(Wanted { limit, after, states, owned })
    }
}

fn whose(conn: &rusqlite::Connection, name: &str) -> Result<Owned, StoreError> {
    match oversight::player(conn, name)? {
        Some(player) => Ok(Owned::By(player, oversight::owned(conn, player)?)),
        None => Ok(Owned::ByNobody),
    }
}

fn states(text: &str) -> Result<Vec<ActorState>, ApiError> {
    let state = |word: &str| {
        let found = ActorState::ALL.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| {
            let known = ActorState::ALL.map(ActorState::as_str).join(", ");
            ApiError::invalid(format!("{word:?} is no state; the states are {known}."))
        })
    };
    text.split(',').map(str::trim).map(state).collect()
}

impl Wanted {
    pub fn wants(&self, id: ConversationId, state: ActorState) -> bool {
        let owned = match &self.owned {
            Owned::ByAnybody => true,
            Owned::By(_, owned) => owned.contains(&id),
            Owned::ByNobody => false,
        };
        owned && self.states.as_ref().is_none_or(|states| states.contains(&state))
    }

    /// The page among these, which come newest first; and whether more follow.
    pub fn page(
        &self,
        newest_first: impl Iterator<Item = (ConversationId, ActorState)>,
    ) -> (Vec<ConversationId>, bool) {
        let mut ids: Vec<ConversationId> = newest_first
            .filter(|(id, _)| self.after.is_none_or(|after| *id < after))
            .filter(|(id, state)| self.wants(*id, *state))
            .map(|(id, _)| id)
            .take(self.limit + 1)
            .collect();
        let more = ids.len() > self.limit;
        ids.truncate(self.limit);
        (ids, more)
    }
}

/// What to send as `after` for the rest.
pub fn next(page: &[ConversationId], more: bool) -> Option<String> {
    page.last().filter(|_| more).map(|last| page::encode(&last.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> ConversationId {
        ConversationId(uuid::Uuid::from_u128(n))
    }

    fn wanted(states: Option<Vec<ActorState>>, owned: Owned, after: Option<ConversationId>) -> Wanted {
        Wanted { limit: 2, after, states, owned }
    }

    #[test]
    fn a_page_is_cut_behind_its_limit_and_goes_on_behind_its_last() {
        let all = || (1..=5).rev().map(|n| (id(n), ActorState::Idle));
        let first = wanted(None, Owned::ByAnybody, None).page(all());
        assert_eq!(first, (vec![id(5), id(4)], true));
        assert_eq!(wanted(None, Owned::ByAnybody, Some(id(4))).page(all()), (vec![id(3), id(2)], true));
        assert_eq!(wanted(None, Owned::ByAnybody, Some(id(2))).page(all()), (vec![id(1)], false));
        assert_eq!(next(&[id(1)], false), None);
        assert_eq!(next(&first.0, true).map(|next| page::decode::<ConversationId>(&next).ok()), Some(Some(id(4))));
    }

    #[test]
    fn state_and_owner_are_both_asked_for() {
        let all = || (1..=4).rev().map(|n| (id(n), if n % 2 == 0 { ActorState::Running } else { ActorState::Idle }));
        let running = Some(vec![ActorState::Running, ActorState::Committing]);
        let player = PlayerId(uuid::Uuid::from_u128(9));
        let by = Owned::By(player, HashSet::from([id(1), id(2)]));
        assert_eq!(wanted(running.clone(), Owned::ByAnybody, None).page(all()).0, [id(4), id(2)]);
        assert_eq!(wanted(running.clone(), by, None).page(all()).0, [id(2)]);
        assert_eq!(wanted(running, Owned::ByNobody, None).page(all()).0, []);
    }

    #[test]
    fn states_are_read_by_the_words_that_they_are_written_with() {
        for state in ActorState::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        assert_eq!(states("running, quarantined").unwrap(), [ActorState::Running, ActorState::Quarantined]);
        assert!(states("running,busy").is_err());
    }
}
