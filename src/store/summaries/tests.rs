use hamlet_actors::vocabulary::{PlayerId, TurnId};

use super::*;
use crate::store::{Store, conversations};

/// A Conversation in which six Messages were said.
struct Desk {
    store: Store,
    id: ConversationId,
    messages: Vec<MessageId>,
    _folder: tempfile::TempDir,
}

impl Desk {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
        let (id, player) = (ConversationId::generate(), PlayerId::generate());
        let messages: Vec<MessageId> = (0..6).map(|_| MessageId::generate()).collect();
        let said = messages.clone();
        store
            .write(move |conn| {
                conn.execute(
                    "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, 'P', 'p', 'admin', 0)",
                    [player.0.as_bytes()],
                )?;
                let at = Timestamp::from_millis(0);
                let new = conversations::NewConversation { id, owner: player, external_id: None, title: None, npcs: vec![], at };
                let key = conversations::create(conn, &new)?.key;
                for (position, message) in said.iter().enumerate() {
                    conn.execute(
                        "INSERT INTO messages (id, conversation_key, turn_id, role, author_kind, author_id, author_name, \
                         position, status, first_seq, last_seq, created_at) \
                         VALUES (?1, ?2, ?3, 'player', 'player', 'x', 'X', ?4, 'complete', 1, 1, 0)",
                        (message.0.as_bytes(), key, TurnId::generate().0.as_bytes(), position),
                    )?;
                }
                Ok(())
            })
            .await
            .unwrap();
        Self { store, id, messages, _folder: folder }
    }

    async fn keep(&self, base: Option<u64>, from: usize, through: usize) -> Kept {
        self.keep_before(i64::MAX, base, from, through).await
    }

    async fn keep_before(&self, before: i64, base: Option<u64>, from: usize, through: usize) -> Kept {
        let draft = SummaryDraft {
            base,
            before_position: before,
            messages: self.messages[from..=through].to_vec(),
            text: format!("{from} to {through}"),
            from_position: 0,
            through_position: i64::try_from(through).unwrap(),
            made_by: SummaryMaker::Model,
        };
        let id = self.id;
        self.store.write(move |conn| keep(conn, id, &draft, Timestamp::from_millis(0))).await.unwrap()
    }

    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Connection, i64) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let id = self.id;
        self.store.write(move |conn| change(conn, key_of(conn, id)?)).await
    }
}

fn version(kept: &Kept) -> u64 {
    match kept {
        Kept::Kept(summary) => summary.version,
        Kept::Overtaken => 0,
    }
}

#[tokio::test]
async fn versions_follow_each_other_and_one_that_comes_too_late_is_not_kept() {
    let desk = Desk::new().await;
    assert_eq!(version(&desk.keep(None, 0, 1).await), 1);
    assert_eq!(version(&desk.keep(None, 0, 3).await), 0, "made without the first");
    assert_eq!(version(&desk.keep(Some(1), 2, 3).await), 2);
    assert_eq!(version(&desk.keep(Some(1), 2, 4).await), 0, "made from one that does not count any more");
    assert_eq!(version(&desk.keep(Some(2), 4, 3).await), 0, "it covers nothing");
}

#[tokio::test]
async fn what_the_player_wrote_is_not_overwritten_by_what_was_made_before_it() {
    let desk = Desk::new().await;
    desk.keep(None, 0, 1).await;
    desk.change(|conn, key| rewrite(conn, key, 1, "In my words", Timestamp::from_millis(1))).await.unwrap();
    assert_eq!(version(&desk.keep(Some(1), 2, 3).await), 0);
    assert_eq!(version(&desk.keep(Some(2), 2, 3).await), 3);
}

#[tokio::test]
async fn a_version_must_be_of_the_very_messages_that_are_there() {
    let desk = Desk::new().await;
    let gone = desk.messages[1];
    desk.change(move |conn, _| {
        conn.execute("UPDATE messages SET status = 'superseded' WHERE id = ?1", [gone.0.as_bytes()])?;
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(version(&desk.keep(None, 0, 2).await), 0);
}

#[tokio::test]
async fn a_version_that_covers_a_message_that_moved_is_out_of_use_for_good() {
    let desk = Desk::new().await;
    desk.keep(None, 0, 1).await;
    desk.keep(Some(1), 2, 3).await;
    let moved = desk.messages[2];
    desk.change(move |conn, key| leave(conn, key, &[moved])).await.unwrap();
    let newest = desk.change(|conn, key| newest_of(conn, key, i64::MAX)).await.unwrap();
    assert_eq!(newest.map(|summary| summary.version), Some(1));
    let before = desk.change(|conn, key| newest_of(conn, key, 1)).await.unwrap();
    assert_eq!(before, None, "a branch within its range has none");
}

#[tokio::test]
async fn a_branch_goes_on_from_the_version_that_ends_before_it() {
    let desk = Desk::new().await;
    desk.keep(None, 0, 1).await;
    desk.keep(Some(1), 2, 4).await;
    // A reply at place 4 is made anew: nothing of it has left yet.
    assert_eq!(version(&desk.keep_before(4, Some(1), 2, 3).await), 3);
    assert_eq!(version(&desk.keep_before(4, Some(1), 2, 3).await), 0);
}

#[tokio::test]
async fn undo_goes_back_one_version_and_ends_where_there_is_none() {
    let desk = Desk::new().await;
    desk.keep(None, 0, 1).await;
    desk.keep(Some(1), 2, 3).await;
    let back = desk.change(undo).await.unwrap();
    assert_eq!(back.map(|summary| summary.version), Some(1));
    assert_eq!(desk.change(undo).await.unwrap(), None);
    assert!(matches!(desk.change(undo).await, Err(StoreError::NotFound)));
}

#[tokio::test]
async fn so_many_versions_are_kept() {
    let desk = Desk::new().await;
    desk.keep(None, 0, 1).await;
    for version in 1..VERSIONS + 10 {
        desk.change(move |conn, key| rewrite(conn, key, version, "Again", Timestamp::from_millis(0))).await.unwrap();
    }
    let all = desk.change(all).await.unwrap();
    assert_eq!(all.len() as u64, VERSIONS);
}
