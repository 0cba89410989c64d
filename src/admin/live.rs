//! What one stream of changes knows, as plain values: of all actors their state, of those on its page what was told last.
//! The page holds only so many, and nothing is told of the others but their numbers.

use std::collections::{BTreeMap, HashMap};

use hamlet_actors::{
    conversation::vitals::ActorState,
    village::{ActorChanges, ActorView},
    vocabulary::ConversationId,
};

use super::{
    query::{self, Wanted},
    row::Counts,
};

#[derive(Debug)]
pub struct Live {
    wanted: Wanted,
    states: BTreeMap<ConversationId, ActorState>,
    page: Vec<ConversationId>,
    more: bool,
    counts: Counts,
    opened: bool,
}

/// What a reader is to be told.
#[derive(Debug, PartialEq)]
pub struct Update {
    /// Set when other actors are on the page, or in another order: those that are not named have left it.
    pub page: Option<Vec<ConversationId>>,
    /// Views on the page that are new or different, in its order.
    pub changed: Vec<ActorView>,
    pub counts: Counts,
}

impl Live {
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            states: BTreeMap::new(),
            page: Vec::new(),
            more: false,
            counts: Counts::default(),
            opened: false,
        }
    }

    pub fn wanted(&mut self) -> &mut Wanted {
        &mut self.wanted
    }

    /// What to send as `after` for what follows the page.
    pub fn next(&self) -> Option<String> {
        query::next(&self.page, self.more)
    }

    /// Those whose first view this is.
    pub fn new_ones(&self, changes: &ActorChanges) -> Vec<ConversationId> {
        let ids = changes.changed.iter().map(|view| view.conversation_id);
        ids.filter(|id| !self.states.contains_key(id)).collect()
    }

    /// None when nothing is different for this reader. `missing` are those on the new page whose view is not among the
    /// changes: the reader has not seen them yet, and they are to be fetched before the update is told.
    pub fn apply(&mut self, changes: ActorChanges) -> Option<(Update, Vec<ConversationId>)> {
        let before = self.counts.clone();
        for view in &changes.changed {
            let earlier = self.states.insert(view.conversation_id, view.state);
            self.counts.moved(earlier, Some(view.state));
        }
        for id in &changes.gone {
            self.counts.moved(self.states.remove(id), None);
        }
        let (page, more) = self.wanted.page(self.states.iter().rev().map(|(id, state)| (*id, *state)));
        let mut views: HashMap<ConversationId, ActorView> =
            changes.changed.into_iter().map(|view| (view.conversation_id, view)).collect();
        let changed: Vec<ActorView> = page.iter().filter_map(|id| views.remove(id)).collect();
        let missing = page
            .iter()
            .filter(|id| !self.page.contains(id) && !changed.iter().any(|view| view.conversation_id == **id))
            .copied()
            .collect();
        let turned = !self.opened || page != self.page || more != self.more;
        if !turned && changed.is_empty() && self.counts == before {
            return None;
        }
        (self.opened, self.more) = (true, more);
        self.page.clone_from(&page);
        Some((Update { page: turned.then_some(page), changed, counts: self.counts.clone() }, missing))
    }
}

#[cfg(test)]
mod tests {
    use hamlet_actors::vocabulary::Timestamp;

    use super::*;
    use crate::{
        admin::{
            query::{Owned, Wanted},
            row::asleep,
        },
        store::oversight::{Overseen, Owner},
    };

    fn id(n: u128) -> ConversationId {
        ConversationId(uuid::Uuid::from_u128(n))
    }

    fn view(n: u128, state: ActorState) -> ActorView {
        let stored = Overseen {
            key: 1,
            owner: Owner { id: hamlet_actors::vocabulary::PlayerId(uuid::Uuid::nil()), name: "Pia".to_owned() },
            title: None,
            created_at: Timestamp::default(),
            updated_at: Timestamp::default(),
            last_seq: 0,
            epoch: 0,
            messages: 0,
            queued: 0,
        };
        ActorView { state, ..asleep(id(n), &stored) }
    }

    fn changes(changed: &[(u128, ActorState)], gone: &[u128]) -> ActorChanges {
        let changed = changed.iter().map(|(n, state)| view(*n, *state)).collect();
        ActorChanges { changed, gone: gone.iter().map(|n| id(*n)).collect() }
    }

    fn running(limit: usize) -> Live {
        let states = Some(vec![ActorState::Running]);
        Live::new(Wanted { limit, after: None, states, owned: Owned::ByAnybody })
    }

    /// What is told, by numbers: the page when it is another, whose views, and whose are to be fetched.
    #[derive(Debug, PartialEq)]
    struct Told {
        page: Option<Vec<u128>>,
        views: Vec<u128>,
        missing: Vec<u128>,
    }

    fn told(live: &mut Live, changed: &[(u128, ActorState)], gone: &[u128]) -> Option<Told> {
        let number = |id: &ConversationId| id.0.as_u128();
        live.apply(changes(changed, gone)).map(|(update, missing)| Told {
            page: update.page.map(|page| page.iter().map(number).collect()),
            views: update.changed.iter().map(|view| number(&view.conversation_id)).collect(),
            missing: missing.iter().map(number).collect(),
        })
    }

    fn page(page: &[u128], views: &[u128], missing: &[u128]) -> Option<Told> {
        Some(Told { page: Some(page.to_vec()), views: views.to_vec(), missing: missing.to_vec() })
    }

    fn same_page(views: &[u128]) -> Option<Told> {
        Some(Told { page: None, views: views.to_vec(), missing: vec![] })
    }

    use ActorState::{Idle, Running};

    #[test]
    fn a_stream_opens_with_its_page_even_when_nobody_is_there() {
        let mut live = running(2);
        assert_eq!(told(&mut live, &[], &[]), page(&[], &[], &[]));
        assert_eq!(told(&mut live, &[], &[]), None);
    }

    #[test]
    fn only_what_is_on_the_page_is_told_and_the_numbers_of_all() {
        let mut live = running(2);
        told(&mut live, &[(1, Running), (2, Running), (3, Running), (4, Idle)], &[]);
        // Another view of one that is behind the page: nothing of it is told.
        assert_eq!(told(&mut live, &[(1, Running)], &[]), None);
        assert_eq!(told(&mut live, &[(3, Running)], &[]), same_page(&[3]));
        // Not on the page, but counted.
        assert_eq!(told(&mut live, &[(5, Idle)], &[]), same_page(&[]));
    }

    #[test]
    fn who_moves_up_onto_the_page_is_fetched() {
        let mut live = running(2);
        told(&mut live, &[(1, Running), (2, Running), (3, Running)], &[]);
        assert_eq!(told(&mut live, &[(3, Idle)], &[]), page(&[2, 1], &[], &[1]));
        assert_eq!(told(&mut live, &[], &[2]), page(&[1], &[], &[]));
    }
}
