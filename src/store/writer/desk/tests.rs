use std::{
    cell::Cell,
    sync::mpsc::{self, Receiver, Sender},
};

use crossbeam_channel::unbounded;

use super::*;
use crate::store::connect;

/// Says its number and what became of it.
type Told = (u32, Result<(), StoreError>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Trouble {
    None,
    /// Refused by a constraint.
    Refused,
    /// Panics in its own change.
    Change,
    /// Panics where nothing of the group catches it.
    Writer,
    /// Panics when it is answered.
    Answer,
}

struct Insert {
    number: u32,
    trouble: Trouble,
    told: Sender<Told>,
}

impl Job for Insert {
    fn run(&mut self, conn: &Connection, _claims: &mut Claims) -> Result<(), StoreError> {
        assert!(self.trouble != Trouble::Change, "as the test asked");
        let number = (self.trouble != Trouble::Refused).then_some(self.number);
        conn.execute("INSERT INTO numbers (number) VALUES (?1)", [number])?;
        Ok(())
    }

    fn done(self: Box<Self>, outcome: Result<(), StoreError>) {
        self.told.send((self.number, outcome)).unwrap();
        assert!(self.trouble != Trouble::Answer, "as the test asked");
    }

    fn is_one_statement(&self) -> bool {
        assert!(self.trouble != Trouble::Writer, "as the test asked");
        false
    }
}

struct Stage {
    folder: tempfile::TempDir,
    /// As the housekeeper's: while it is open, the log stays when the writer closes its own connection.
    other: Connection,
    desk: Desk,
    jobs: crossbeam_channel::Sender<Box<dyn Job>>,
    queue: crossbeam_channel::Receiver<Box<dyn Job>>,
    told: (Sender<Told>, Receiver<Told>),
}

impl Stage {
    fn new(commit: Commit) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hamlet.db");
        let conn = connect(&path).unwrap();
        conn.execute_batch(
            "CREATE TABLE numbers (number INTEGER NOT NULL);
             CREATE TABLE journal (id INTEGER PRIMARY KEY, message_key INTEGER);
             CREATE TABLE messages (key INTEGER, id BLOB, status TEXT);",
        )
        .unwrap();
        let presence = Presence::of(&conn, &path).unwrap();
        let mut desk = Desk::new(conn, &path, presence, Beside::default()).unwrap();
        desk.commit = commit;
        let (jobs, queue) = unbounded();
        let other = connect(&path).unwrap();
        Self { folder, other, desk, jobs, queue, told: mpsc::channel() }
    }

    fn queue(&self, number: u32, trouble: Trouble) {
        self.jobs.send(Box::new(Insert { number, trouble, told: self.told.0.clone() })).unwrap();
    }

    /// What is queued is one group.
    fn work(self) -> (Vec<Told>, Vec<u32>) {
        let Self { folder, other, desk, jobs, queue, told } = self;
        drop(jobs);
        desk.write_all(&queue);
        drop(other);
        let conn = Connection::open(folder.path().join("hamlet.db")).unwrap();
        let mut statement = conn.prepare("SELECT number FROM numbers ORDER BY number").unwrap();
        let stored = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        drop(told.0);
        (told.1.iter().collect(), stored)
    }
}

fn kinds(told: &[Told]) -> Vec<(u32, &'static str)> {
    let kind = |outcome: &Result<(), StoreError>| match outcome {
        Ok(()) => "stored",
        Err(StoreError::Unavailable(_)) => "unavailable",
        Err(StoreError::Unsettled(_)) => "unsettled",
        Err(StoreError::Unknown(_)) => "unknown",
        Err(StoreError::Damaged(_)) => "damaged",
        Err(_) => "refused",
    };
    told.iter().map(|(number, outcome)| (*number, kind(outcome))).collect()
}

#[test]
fn a_change_that_fails_or_panics_fails_alone() {
    let stage = Stage::new(commit);
    for (number, trouble) in [(1, Trouble::None), (2, Trouble::Refused), (3, Trouble::Change), (4, Trouble::None)] {
        stage.queue(number, trouble);
    }
    let (told, stored) = stage.work();
    assert_eq!(kinds(&told), vec![(1, "stored"), (2, "refused"), (3, "damaged"), (4, "stored")]);
    assert_eq!(stored, vec![1, 4]);
}

#[test]
fn an_answer_that_panics_keeps_nobody_from_theirs() {
    let stage = Stage::new(commit);
    stage.queue(1, Trouble::Answer);
    stage.queue(2, Trouble::None);
    let (told, stored) = stage.work();
    assert_eq!((kinds(&told), stored), (vec![(1, "stored"), (2, "stored")], vec![1, 2]));
}

#[test]
fn when_the_writer_fails_over_a_change_the_others_of_its_group_may_be_tried_again() {
    let stage = Stage::new(commit);
    for (number, trouble) in [(1, Trouble::None), (2, Trouble::Writer), (3, Trouble::None)] {
        stage.queue(number, trouble);
    }
    let (told, stored) = stage.work();
    assert_eq!(kinds(&told), vec![(1, "unavailable"), (2, "damaged"), (3, "unavailable")]);
    assert_eq!(stored, Vec::<u32>::new(), "what was said to be not stored is not");
}

thread_local! {
    /// How a commit of this test goes wrong, once.
    static WRONG: Cell<Option<Wrong>> = const { Cell::new(None) };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    PanicBefore,
    PanicAfter,
    IoError,
    Full,
    LeftOpen,
}

fn goes_wrong_once(conn: &Connection) -> rusqlite::Result<()> {
    let failure = |code| Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None));
    match WRONG.take() {
        Some(Wrong::PanicBefore) => panic!("as the test asked"),
        Some(Wrong::PanicAfter) => {
            commit(conn)?;
            panic!("as the test asked");
        }
        Some(Wrong::IoError) => {
            conn.execute_batch("ROLLBACK")?;
            failure(rusqlite::ffi::SQLITE_IOERR_FSYNC)
        }
        Some(Wrong::Full) => {
            conn.execute_batch("ROLLBACK")?;
            failure(rusqlite::ffi::SQLITE_FULL)
        }
        Some(Wrong::LeftOpen) => failure(rusqlite::ffi::SQLITE_BUSY),
        None => commit(conn),
    }
}

/// One group of three, the second of which is refused anyway; then a fourth by itself.
fn a_commit_that_goes_wrong(wrong: Wrong) -> (Vec<(u32, &'static str)>, Vec<u32>) {
    let stage = Stage::new(goes_wrong_once);
    WRONG.set(Some(wrong));
    stage.queue(1, Trouble::None);
    stage.queue(2, Trouble::Refused);
    // The answer to the first queues the fourth, behind the group.
    let (jobs, told) = (stage.jobs.clone(), stage.told.0.clone());
    stage
        .jobs
        .send(Box::new(Behind(Some(Box::new(Insert { number: 4, trouble: Trouble::None, told })), jobs)))
        .unwrap();
    let (told, stored) = stage.work();
    (kinds(&told), stored)
}

/// Queues another when it is answered.
struct Behind(Option<Box<dyn Job>>, crossbeam_channel::Sender<Box<dyn Job>>);

impl Job for Behind {
    fn run(&mut self, _conn: &Connection, _claims: &mut Claims) -> Result<(), StoreError> {
        Ok(())
    }

    fn done(self: Box<Self>, _outcome: Result<(), StoreError>) {
        let Self(next, jobs) = *self;
        jobs.send(next.unwrap()).unwrap();
    }
}

#[test]
fn nobody_is_told_what_became_of_a_commit_in_which_the_writer_failed() {
    let (told, stored) = a_commit_that_goes_wrong(Wrong::PanicBefore);
    assert_eq!((told, stored), (vec![(1, "unknown"), (2, "refused"), (4, "stored")], vec![4]));
    let (told, stored) = a_commit_that_goes_wrong(Wrong::PanicAfter);
    assert_eq!((told, stored), (vec![(1, "unknown"), (2, "refused"), (4, "stored")], vec![1, 4]));
}

#[test]
fn a_commit_that_failed_is_told_apart_by_what_may_be_in_the_log() {
    let (told, stored) = a_commit_that_goes_wrong(Wrong::IoError);
    assert_eq!((told, stored), (vec![(1, "unsettled"), (2, "unsettled"), (4, "stored")], vec![4]));
    let (told, stored) = a_commit_that_goes_wrong(Wrong::Full);
    assert_eq!((told, stored), (vec![(1, "unavailable"), (2, "unavailable"), (4, "stored")], vec![4]));
}

#[test]
fn a_transaction_that_a_failed_commit_left_open_is_rolled_back() {
    let (told, stored) = a_commit_that_goes_wrong(Wrong::LeftOpen);
    assert_eq!((told, stored), (vec![(1, "unavailable"), (2, "unavailable"), (4, "stored")], vec![4]));
}

#[test]
fn a_writer_that_fails_again_and_again_rests() {
    let Stage { folder: _folder, other: _other, desk, jobs, queue, told } = Stage::new(commit);
    let working = std::thread::spawn(move || desk.write_all(&queue));
    let ask = |number, trouble| {
        jobs.send(Box::new(Insert { number, trouble, told: told.0.clone() }) as Box<dyn Job>).unwrap();
        told.1.recv().unwrap()
    };
    for number in 0..5 {
        assert_eq!(kinds(&[ask(number, Trouble::None)]), vec![(number, "stored")]);
        assert_eq!(kinds(&[ask(10, Trouble::Writer)]), vec![(10, "damaged")]);
    }
    assert_eq!(kinds(&[ask(6, Trouble::None)]), vec![(6, "unavailable")]);
    drop(jobs);
    working.join().unwrap();
}

#[test]
fn a_file_that_is_gone_takes_no_changes_until_it_is_back() {
    let Stage { folder, other: _other, desk, jobs, queue, told } = Stage::new(commit);
    let (path, aside) = (folder.path().join("hamlet.db"), folder.path().join("aside"));
    let working = std::thread::spawn(move || desk.write_all(&queue));
    let ask = |number| {
        jobs.send(Box::new(Insert { number, trouble: Trouble::None, told: told.0.clone() }) as Box<dyn Job>).unwrap();
        kinds(&[told.1.recv().unwrap()])[0].1
    };
    // It looks ten times a second.
    let until = |outcome| {
        let tries = (0..1000).take_while(|_| {
            std::thread::sleep(Duration::from_millis(5));
            ask(0) != outcome
        });
        assert!(tries.count() < 1000);
    };
    assert_eq!(ask(1), "stored");
    std::fs::rename(&path, &aside).unwrap();
    until("unavailable");
    assert_eq!(ask(2), "unavailable");
    assert!(!path.exists(), "no empty file takes its place");
    std::fs::rename(&aside, &path).unwrap();
    until("stored");
    assert_eq!(ask(3), "stored");
    drop(jobs);
    working.join().unwrap();
    let conn = Connection::open(&path).unwrap();
    let stored: i64 = conn.query_row("SELECT sum(number) FROM numbers", [], |row| row.get(0)).unwrap();
    assert_eq!(stored, 4);
}
