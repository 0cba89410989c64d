use std::{sync::Arc, time::Duration};

use futures_util::poll;
use hamlet_actors::{
    conversation::frame_log::FrameLog,
    vocabulary::{Frame, Timestamp},
};
use tokio::time::timeout;
use uuid::Uuid;

use super::*;
use crate::store::conversations::NewConversation;

struct Shelf {
    _folder: tempfile::TempDir,
    store: Store,
    player: PlayerId,
}

impl Shelf {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
        let player = PlayerId::generate();
        store
            .write(move |conn| {
                let sql =
                    "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, 'Pia', 'pia', 'player', 0)";
                Ok(conn.execute(sql, [player.0.as_bytes()])?)
            })
            .await
            .unwrap();
        Self { _folder: folder, store, player }
    }

    /// A Conversation of so many finished Messages; their last seqs are 2, 4, 6 and so on, from the last position to the
    /// first.
    async fn conversation(&self, messages: u64) -> ConversationId {
        let (id, owner) = (ConversationId::generate(), self.player);
        let at = Timestamp::from_millis(0);
        let new = NewConversation { id, owner, external_id: None, title: None, npcs: Vec::new(), at };
        self.store
            .write(move |conn| {
                let key = crate::store::conversations::create(conn, &new)?.key;
                for n in 1..=messages {
                    let (id, turn) = (Uuid::now_v7(), Uuid::now_v7());
                    conn.execute(
                        "INSERT INTO messages (id, conversation_key, turn_id, role, author_kind, author_id, author_name, position, \
                         status, text, terminal, first_seq, last_seq, created_at) \
                         VALUES (?1, ?2, ?3, 'npc', 'npc', 'a', 'Ada', ?4, 'complete', ?5, 1, ?6, ?7, 0)",
                        (id.as_bytes(), key, turn.as_bytes(), 10_000 - n, format!("{n}"), 2 * n - 1, 2 * n),
                    )?;
                }
                conn.execute("UPDATE conversations SET last_seq = ?2 WHERE key = ?1", (key, 2 * messages))?;
                Ok(())
            })
            .await
            .unwrap();
        id
    }

    fn reader(&self, log: &FrameLog, id: ConversationId, cursor: u64) -> Reader {
        Reader::new(self.store.clone(), log, id, self.player, cursor)
    }
}

/// The last seqs of the Messages that a step holds.
fn seqs(step: &Step) -> Vec<u64> {
    let Step::Frames(stretch) = step else { panic!("{step:?}") };
    stretch.lines().iter().filter_map(|line| line.seq).collect()
}

#[tokio::test]
async fn what_ended_is_read_in_the_order_of_its_last_seq_two_hundred_at_a_time() {
    let shelf = Shelf::new().await;
    let id = shelf.conversation(450).await;
    let mut reader = shelf.reader(&FrameLog::default(), id, 20);
    let mut read = Vec::new();
    for expected in [200, 200, 40] {
        let seqs = seqs(&reader.next().await);
        assert_eq!(seqs.len(), expected);
        read.extend(seqs);
    }
    assert_eq!(read, (11..=450).map(|n| 2 * n).collect::<Vec<u64>>());
}

#[tokio::test]
async fn a_message_is_whole_and_its_last_line_alone_moves_the_cursor() {
    let shelf = Shelf::new().await;
    let id = shelf.conversation(1).await;
    let Step::Frames(stretch) = shelf.reader(&FrameLog::default(), id, 0).next().await else { panic!() };
    let frames: Vec<Frame> = stretch.lines().iter().map(|line| serde_json::from_slice(&line.json).unwrap()).collect();
    assert!(matches!(frames[..], [Frame::Start(_), Frame::Part { .. }, Frame::Finish(_)]));
    assert_eq!(stretch.lines().iter().map(|line| line.seq).collect::<Vec<_>>(), [None, None, Some(2)]);
    assert_eq!((stretch.after(), stretch.cursor()), (0, 2));
}

#[tokio::test]
async fn a_reader_of_one_turn_ends_behind_its_terminal_frame_in_the_middle_of_a_page() {
    let shelf = Shelf::new().await;
    let id = shelf.conversation(5).await;
    let mut all = shelf.reader(&FrameLog::default(), id, 0);
    let Step::Frames(stretch) = all.next().await else { panic!() };
    let second = stretch.lines().iter().filter_map(|line| line.ends).nth(1).unwrap();
    let mut reader = shelf.reader(&FrameLog::default(), id, 0).until(second, None);
    assert_eq!(seqs(&reader.next().await), [2, 4]);
    assert_eq!(reader.next().await, Step::Ended(Ended::Turn));
}

#[tokio::test]
async fn a_reader_that_is_told_of_the_end_says_why() {
    let shelf = Shelf::new().await;
    let id = shelf.conversation(1).await;
    for (closing, ended) in [(Closing::Deleted, Ended::Gone), (Closing::Stopping, Ended::Stopping)] {
        let log = FrameLog::default();
        let mut reader = shelf.reader(&log, id, 0);
        log.close(closing);
        assert_eq!(seqs(&reader.next().await), [2], "what is there comes first");
        assert_eq!(reader.next().await, Step::Ended(ended));
        assert_eq!(reader.next().await, Step::Ended(ended));
    }
    let absent = ConversationId::generate();
    assert_eq!(shelf.reader(&FrameLog::default(), absent, 0).next().await, Step::Ended(Ended::Gone));
    let mut foreign = Reader::new(shelf.store.clone(), &FrameLog::default(), id, PlayerId::generate(), 0);
    assert_eq!(foreign.next().await, Step::Ended(Ended::Gone));
}

/// However many Conversations one stream replays, one page is in memory, and each gets its turn.
#[tokio::test]
async fn readers_that_share_the_store_read_a_page_each_in_turn() {
    let shelf = Shelf::new().await;
    let (a, b) = (shelf.conversation(450).await, shelf.conversation(250).await);
    let (log, turns) = (FrameLog::default(), Arc::new(Semaphore::new(1)));
    let mut a = shelf.reader(&log, a, 0).in_turns(Arc::clone(&turns));
    let mut b = shelf.reader(&log, b, 0).in_turns(Arc::clone(&turns));
    assert_eq!(seqs(&a.next().await).len(), 200);
    let mut next_of_b = Box::pin(b.next());
    assert!(
        timeout(Duration::from_millis(50), &mut next_of_b).await.is_err(),
        "the page of the first is not taken yet"
    );
    // Asked for its next page, the first lets go of the one before, and queues behind the second.
    let mut next_of_a = Box::pin(a.next());
    assert!(poll!(&mut next_of_a).is_pending());
    assert_eq!(seqs(&next_of_b.await).len(), 200);
    assert!(timeout(Duration::from_millis(50), &mut next_of_a).await.is_err());
    let mut next_of_b = Box::pin(b.next());
    assert!(poll!(&mut next_of_b).is_pending());
    assert_eq!(seqs(&next_of_a.await).len(), 200);
    let mut next_of_a = Box::pin(a.next());
    assert!(poll!(&mut next_of_a).is_pending());
    assert_eq!(seqs(&next_of_b.await).len(), 50);
    drop(b);
    assert_eq!(seqs(&next_of_a.await).len(), 50);
}

#[tokio::test]
async fn a_reader_with_nothing_to_read_waits_without_asking_the_store_again() {
    let shelf = Shelf::new().await;
    let id = shelf.conversation(1).await;
    let log = FrameLog::default();
    let mut reader = shelf.reader(&log, id, 2);
    assert!(timeout(Duration::from_millis(50), reader.next()).await.is_err());
    // It is written to the store and nobody is told: a reader that asked again would find it.
    let key = "(SELECT key FROM conversations WHERE id = ?1)";
    let sql = format!("UPDATE messages SET last_seq = 3 WHERE conversation_key = {key}");
    let more = format!("UPDATE conversations SET last_seq = 3 WHERE key = {key}");
    shelf
        .store
        .write(move |conn| Ok(conn.execute(&sql, [id.0.as_bytes()])? + conn.execute(&more, [id.0.as_bytes()])?))
        .await
        .unwrap();
    assert!(timeout(Duration::from_millis(50), reader.next()).await.is_err());
    log.wake(3);
    assert_eq!(seqs(&reader.next().await), [3]);
}

/// What a reader holds while its socket stands still.
#[tokio::test]
async fn a_page_of_long_messages_ends_behind_the_one_that_passes_64_kib() {
    let shelf = Shelf::new().await;
    let id = shelf.conversation(5).await;
    let parts = format!(r#"[{{"type":"text","text":"{}"}}]"#, "a".repeat(40 << 10));
    let sql = "UPDATE messages SET parts = ?2 WHERE conversation_key = (SELECT key FROM conversations WHERE id = ?1)";
    shelf.store.write(move |conn| Ok(conn.execute(sql, (id.0.as_bytes(), parts))?)).await.unwrap();
    let mut reader = shelf.reader(&FrameLog::default(), id, 0);
    for expected in [&[2, 4][..], &[6, 8], &[10]] {
        assert_eq!(seqs(&reader.next().await), expected);
    }
}
