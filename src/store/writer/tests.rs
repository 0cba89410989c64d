//! The store while its writer fails.

use std::time::Duration;

use hamlet_actors::{
    ports::journal::{Batch, Journal, JournalError, Leftover, NewMessage, Write},
    vocabulary::{
        Author, AuthorKind, Body, ConversationId, Hop, MessageId, MessageStatus, Part, Piece, PlayerId, Role,
        Timestamp, TurnId,
    },
};
use tokio::sync::oneshot;

use super::*;
use crate::store::{Store, conversations};

/// The writer fails over it.
struct Poison(oneshot::Sender<Result<(), StoreError>>);

impl Job for Poison {
    fn run(&mut self, _conn: &Connection, _claims: &mut Claims) -> Result<(), StoreError> {
        Ok(())
    }

    fn done(self: Box<Self>, outcome: Result<(), StoreError>) {
        self.0.send(outcome).unwrap();
    }

    fn is_one_statement(&self) -> bool {
        panic!("as the test asked");
    }
}

struct Running {
    _folder: tempfile::TempDir,
    store: Store,
    conversation: ConversationId,
    epoch: u64,
    message: MessageId,
}

impl Running {
    /// A Conversation with a Message that runs and has one piece.
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
        let (conversation, player) = (ConversationId::generate(), PlayerId::generate());
        store
            .write(move |conn| {
                conn.execute(
                    "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, 'Pia', 'pia', 'admin', 0)",
                    [player.0.as_bytes()],
                )?;
                let new = conversations::NewConversation {
                    id: conversation,
                    owner: player,
                    external_id: None,
                    title: None,
                    npcs: Vec::new(),
                    at: Timestamp::from_millis(0),
                };
                conversations::create(conn, &new)
            })
            .await
            .unwrap();
        let mut running = Self { _folder: folder, store, conversation, epoch: 0, message: MessageId::generate() };
        running.epoch = running.claim().await.unwrap();
        running.submit(1, vec![Write::Insert(Arc::new(reply(running.message)))]).await.unwrap();
        running.piece(2, "Half").await.unwrap();
        running
    }

    async fn claim(&self) -> Result<u64, JournalError> {
        let (done, claimed) = oneshot::channel();
        self.store.claim(self.conversation, Leftover::Failed, Box::new(|claim| done.send(claim).unwrap()));
        claimed.await.unwrap().map(|claimed| claimed.epoch)
    }

    async fn submit(&self, last_seq: u64, writes: Vec<Write>) -> Result<(), JournalError> {
        let (done, settled) = oneshot::channel();
        let batch = Batch { conversation: self.conversation, epoch: self.epoch, last_seq, writes };
        self.store.submit(batch, Box::new(|outcome| done.send(outcome).unwrap()));
        settled.await.unwrap()
    }

    async fn piece(&self, seq: u64, text: &str) -> Result<(), JournalError> {
        let piece = Piece::Part { index: 0, part: Part::text(text) };
        self.submit(seq, vec![Write::Pieces { message: self.message, pieces: vec![(seq, piece)].into() }]).await
    }

    async fn fail_the_writer(&self) {
        let (answer, answered) = oneshot::channel();
        self.store.inner.writer.submit(Box::new(Poison(answer)));
        assert!(matches!(answered.await.unwrap(), Err(StoreError::Damaged(_))));
    }

    async fn text(&self) -> (String, String) {
        let id = self.message;
        self.store
            .read(move |conn| {
                Ok(conn.query_row("SELECT text, status FROM messages WHERE id = ?1", [id.0.as_bytes()], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?)
            })
            .await
            .unwrap()
    }
}

fn reply(id: MessageId) -> NewMessage {
    NewMessage {
        id,
        turn_id: TurnId::generate(),
        role: Role::Npc,
        author: Author { kind: AuthorKind::Npc, id: "ada".to_owned(), name: "Ada".to_owned() },
        position: 0,
        status: MessageStatus::Running,
        body: Body::default(),
        hop: Hop::default(),
        supersedes: Vec::new(),
        variant_of: None,
        model: None,
        client_id: None,
        first_seq: 1,
        last_seq: 1,
        created_at: Timestamp::from_millis(0),
    }
}

#[tokio::test]
async fn after_a_failure_of_the_writer_the_same_instance_goes_on() {
    let running = Running::new().await;
    running.fail_the_writer().await;
    running.piece(3, " and whole").await.unwrap();
    running.claim().await.unwrap();
    assert_eq!(running.text().await, ("Half and whole".to_owned(), "failed".to_owned()));
}

#[tokio::test]
async fn a_claim_that_was_stored_still_fences_after_a_failure_of_the_writer() {
    let running = Running::new().await;
    running.claim().await.unwrap();
    running.fail_the_writer().await;
    assert_eq!(running.piece(3, " late").await, Err(JournalError::Fenced));
}

#[tokio::test]
async fn a_writer_that_begins_anew_deletes_no_rows_that_a_running_message_needs() {
    let running = Running::new().await;
    running.fail_the_writer().await;
    // Rows that nobody needs go in the background: once this one has gone, others would have gone as well.
    running
        .store
        .write(|conn| {
            conn.execute("INSERT INTO journal (message_key, seq, idx, kind, body) VALUES (-1, 1, 0, 0, 'x')", [])?;
            conn.execute(
                "INSERT INTO idempotency SELECT id, 'old', zeroblob(16), zeroblob(32), zeroblob(16), zeroblob(16), 1, 0 FROM players",
                [],
            )?;
            Ok(())
        })
        .await
        .unwrap();
    for _ in 0..1000 {
        let left: i64 = running
            .store
            .read(|conn| Ok(conn.query_row("SELECT count(*) FROM idempotency", [], |row| row.get(0))?))
            .await
            .unwrap();
        if left == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    running.claim().await.unwrap();
    assert_eq!(running.text().await, ("Half".to_owned(), "failed".to_owned()));
}

/// Panics once more when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "the second panic that the test asked for");
    }
}

#[tokio::test]
async fn reads_that_panic_leave_the_readers_at_work() {
    let running = Running::new().await;
    for _ in 0..10 {
        let read = running.store.read(|_conn| -> Result<(), StoreError> { std::panic::panic_any(Bomb) });
        assert!(matches!(read.await, Err(StoreError::Damaged(_))));
    }
    assert_eq!(running.text().await.1, "running");
}

#[tokio::test]
async fn what_is_to_leave_or_come_back_and_is_not_as_it_was_read_takes_nothing_of_its_batch() {
    let running = Running::new().await;
    let supersede = |id, seq| Write::Supersede { left: vec![(id, seq)] };
    let refused =
        |outcome: Result<(), JournalError>| assert!(matches!(outcome, Err(JournalError::Refused(_))), "{outcome:?}");
    refused(running.submit(4, vec![supersede(running.message, 3), supersede(MessageId::generate(), 4)]).await);
    refused(running.submit(3, vec![Write::Restore { back: vec![(running.message, 3)] }]).await);
    running.submit(3, vec![supersede(running.message, 3)]).await.unwrap();
    refused(running.submit(4, vec![supersede(running.message, 4)]).await);
    running.submit(4, vec![Write::Restore { back: vec![(running.message, 4)] }]).await.unwrap();
}
