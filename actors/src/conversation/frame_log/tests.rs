use super::*;
use crate::vocabulary::{
    Author, AuthorKind, ConversationId, ConversationStamp, Finish, Hop, MessageStatus, Part, Role, Start,
    StartedMessage, Timestamp, Transcript, TurnStamp, TurnState,
};
use proptest::prelude::*;
use uuid::Uuid;

const MESSAGE: MessageId = MessageId(Uuid::from_u128(1));
const TURN: TurnId = TurnId(Uuid::from_u128(2));

fn start() -> Frame {
    Frame::Start(Start {
        conversation_id: ConversationId(Uuid::from_u128(3)),
        turn_id: TURN,
        message: StartedMessage {
            id: MESSAGE,
            role: Role::Npc,
            author: Author { kind: AuthorKind::Npc, id: "a".into(), name: "Ada".into() },
            position: 0,
            created_at: Timestamp::from_millis(0),
            status: MessageStatus::Running,
            client_id: None,
        },
        hop: Hop::default(),
        supersedes: Vec::new(),
    })
}

fn finish() -> Frame {
    Frame::Finish(Finish {
        message_id: MESSAGE,
        status: MessageStatus::Complete,
        finish_reason: None,
        usage: None,
        turn: TurnStamp { id: TURN, state: TurnState::Ended },
        conversation: ConversationStamp { title: None, updated_at: Timestamp::from_millis(0) },
    })
}

fn text(index: u32, text: &str) -> Piece {
    Piece::Part { index, part: Part::text(text) }
}

fn frames(look: Look) -> Vec<(Option<u64>, Frame)> {
    let Look::Frames(stretch) = look else { panic!("{look:?}") };
    stretch.lines().iter().map(|line| (line.seq, serde_json::from_slice(&line.json).unwrap())).collect()
}

fn part(seq: u64, index: u32, text: &str) -> (Option<u64>, Frame) {
    (Some(seq), Frame::Part { message_id: MESSAGE, index, part: Part::text(text) })
}

fn opened() -> FrameLog {
    let log = FrameLog::default();
    log.wake(4);
    log.open(4, TURN);
    log.publish_frames(&[(5, start())]);
    log
}

#[test]
fn a_reader_one_behind_gets_each_frame_and_one_further_behind_gets_them_merged() {
    let log = opened();
    let mut quick = log.watch();
    assert_eq!(frames(quick.look(4)), vec![(Some(5), start())]);
    log.publish_pieces(MESSAGE, &[(6, text(0, "a\"b"))]);
    assert_eq!(frames(quick.look(5)), vec![part(6, 0, "a\"b")]);
    log.publish_pieces(MESSAGE, &[(7, text(0, "\n\u{1F600}")), (8, text(1, "c"))]);
    assert_eq!(frames(quick.look(6)), vec![part(7, 0, "\n\u{1F600}"), part(8, 1, "c")]);
    let mut slow = log.watch();
    assert_eq!(frames(slow.look(4)), vec![(Some(5), start()), part(7, 0, "a\"b\n\u{1F600}"), part(8, 1, "c")]);
    assert_eq!(frames(slow.look(6)), vec![part(7, 0, "\n\u{1F600}"), part(8, 1, "c")]);
    assert_eq!(slow.look(8), Look::UpToDate);
}

#[test]
fn text_and_reasoning_at_one_index_are_never_merged_into_each_other() {
    let log = opened();
    log.publish_pieces(
        MESSAGE,
        &[(6, Piece::Part { index: 0, part: Part::reasoning("hm") }), (7, text(1, "yes")), (8, text(1, "!"))],
    );
    let seen = frames(log.watch().look(5));
    assert_eq!(seen[0].1, Frame::Part { message_id: MESSAGE, index: 0, part: Part::reasoning("hm") });
    assert_eq!(seen[1], part(8, 1, "yes!"));
}

#[test]
fn opaque_state_is_a_gap_and_never_a_frame() {
    let log = opened();
    let opaque = crate::vocabulary::Opaque { signature: Some("secret".into()), ..Default::default() };
    log.publish_pieces(MESSAGE, &[(6, text(0, "a")), (7, Piece::Opaque { index: 0, opaque }), (8, text(0, "b"))]);
    let Look::Frames(stretch) = log.watch().look(4) else { panic!() };
    assert!(!stretch.lines().iter().any(|line| String::from_utf8_lossy(&line.json).contains("secret")));
    assert_eq!(log.head(), Some(8));
}

#[test]
fn what_is_older_than_the_log_is_in_the_store() {
    let log = opened();
    assert_eq!(log.watch().look(3), Look::Behind { floor: 4 });
    log.publish_frames(&[(6, finish())]);
    assert_eq!(log.running_turn(), None);
    log.free();
    assert_eq!(frames(log.watch().look(5)), vec![(Some(6), finish())], "readers have a while to take the end");
    log.free();
    assert_eq!(log.watch().look(4), Look::Behind { floor: 6 });
    assert_eq!(log.watch().look(6), Look::UpToDate);
    log.sleep();
    assert_eq!(log.watch().look(6), Look::Dormant);
}

#[test]
fn a_running_turn_is_never_freed() {
    let log = opened();
    log.free();
    log.free();
    assert_eq!(frames(log.watch().look(4)), vec![(Some(5), start())]);
}

#[test]
fn only_the_terminal_frame_ends_the_turn() {
    let log = opened();
    log.publish_frames(&[(6, finish())]);
    let Look::Frames(stretch) = log.watch().look(4) else { panic!() };
    assert_eq!(stretch.lines().iter().map(|line| line.ends).collect::<Vec<_>>(), vec![None, Some(TURN)]);
}

#[test]
fn after_a_restart_the_log_begins_anew_so_that_no_reader_misses_what_was_committed_unseen() {
    let log = opened();
    let mut reader = log.watch();
    reader.look(4);
    log.wake(20);
    assert_eq!(reader.look(5), Look::Behind { floor: 20 });
}

#[test]
fn what_is_told_without_an_id_reaches_those_who_watch_now_and_nobody_later() {
    let log = opened();
    let mut early = log.watch();
    early.look(4);
    log.tell(&finish());
    assert_eq!(frames(early.look(5)), vec![(None, finish())]);
    assert_eq!(early.look(5), Look::UpToDate);
    assert_eq!(log.watch().look(5), Look::UpToDate);
}

#[tokio::test]
async fn a_closed_log_ends_its_readers_after_their_last_frame_and_says_why() {
    let log = opened();
    let mut reader = log.watch();
    reader.look(4);
    log.close(Closing::Deleted);
    log.close(Closing::Stopping);
    assert!(reader.changed().await);
    assert_eq!(frames(reader.look(4)), vec![(Some(5), start())]);
    assert_eq!(reader.look(5), Look::Closed(Closing::Deleted));
}

proptest! {
    /// Promise 9: whatever the moments at which a reader looks, its fold is that of a reader that never missed one.
    #[test]
    fn any_pace_of_reading_folds_to_the_same_transcript(
        pieces in prop::collection::vec((0u32..3, "[a-z\"\\\\\u{e9}\u{1F600}\n]{1,5}", prop::bool::weighted(0.3)), 1..40),
    ) {
        let log = opened();
        let (mut lazy, mut keen) = (log.watch(), log.watch());
        let (mut lazy_at, mut keen_at) = (4, 4);
        let (mut seen_by_lazy, mut seen_by_keen) = (Transcript::default(), Transcript::default());
        let read = |watcher: &mut Watcher, at: &mut u64, seen: &mut Transcript| {
            while let Look::Frames(stretch) = watcher.look(*at) {
                for line in stretch.lines() {
                    *at = line.seq.unwrap_or(*at);
                    seen.fold(serde_json::from_slice(&line.json).unwrap());
                }
            }
        };
        // Places only ever move forward, as the engine gives them.
        let mut index = 0;
        for (seq, (step, piece, lazy_looks)) in (6..).zip(pieces) {
            index += u32::from(step == 2);
            log.publish_pieces(MESSAGE, &[(seq, text(index, &piece))]);
            read(&mut keen, &mut keen_at, &mut seen_by_keen);
            if lazy_looks { read(&mut lazy, &mut lazy_at, &mut seen_by_lazy); }
        }
        read(&mut lazy, &mut lazy_at, &mut seen_by_lazy);
        prop_assert_eq!(seen_by_lazy.entries(), seen_by_keen.entries());
        prop_assert_eq!(lazy_at, keen_at);
    }
}

#[test]
fn readers_who_keep_up_share_one_piece_of_memory_and_what_was_written_of_it() {
    let log = opened();
    let mut readers = [log.watch(), log.watch(), log.watch()];
    let stretch = |look: Look| match look {
        Look::Frames(stretch) => stretch,
        other => panic!("{other:?}"),
    };
    for seq in 6..20 {
        log.publish_pieces(MESSAGE, &[(seq, text(0, "a"))]);
        // One step behind, and a few steps.
        for cursor in [seq - 1, seq.saturating_sub(3).max(4)] {
            let mut seen = readers.iter_mut().map(|reader| stretch(reader.look(cursor)));
            let first = seen.next().unwrap();
            let written = first.written(Form::Alone, |_| vec![1, 2, 3].into());
            for other in seen {
                assert!(Arc::ptr_eq(&first, &other), "at {cursor} of {seq}");
                let same = other.written(Form::Alone, |_| panic!("it is written already"));
                assert_eq!(written.as_ptr(), same.as_ptr());
            }
            assert_eq!(first.written(Form::Among, |_| vec![4].into()), vec![4], "the other form is another");
        }
    }
}

#[test]
fn what_is_shared_is_never_older_than_the_log() {
    let log = opened();
    let mut reader = log.watch();
    log.publish_pieces(MESSAGE, &[(6, text(0, "a"))]);
    assert_eq!(frames(reader.look(5)), vec![part(6, 0, "a")]);
    log.publish_pieces(MESSAGE, &[(7, text(0, "b"))]);
    assert_eq!(frames(reader.look(5)), vec![part(7, 0, "ab")]);
    log.publish_frames(&[(8, finish())]);
    assert_eq!(frames(reader.look(5)), vec![part(7, 0, "ab"), (Some(8), finish())]);
    log.free();
    log.free();
    assert_eq!(reader.look(5), Look::Behind { floor: 8 });
}

/// What a look gives at most, but for what stands around the last piece.
const HELD: usize = 64 << 10;

/// Promise 9: what a reader holds while its socket is slow does not grow with the reply.
#[test]
fn a_reader_far_behind_gets_the_reply_in_bounded_pieces_without_a_gap() {
    let log = opened();
    let piece = "0123456789".repeat(100);
    for seq in 6..2_006 {
        log.publish_pieces(MESSAGE, &[(seq, text(0, &piece))]);
    }
    let (mut reader, mut cursor, mut length, mut looks) = (log.watch(), 5, 0, 0);
    while let Look::Frames(stretch) = reader.look(cursor) {
        let bytes: usize = stretch.lines().iter().map(|line| line.json.len()).sum();
        assert!(bytes <= HELD + 2 * 1_200, "{bytes}");
        for line in stretch.lines() {
            let frame: Frame = serde_json::from_slice(&line.json).unwrap();
            let Frame::Part { part: Part::Text { text }, .. } = frame else { panic!() };
            length += text.len();
        }
        cursor = stretch.cursor();
        looks += 1;
    }
    assert_eq!((cursor, length), (2_005, 2_000_000));
    assert!(looks < 40, "merged as far as that allows: {looks}");
}

#[test]
fn the_logs_memory_does_not_grow_with_its_readers() {
    let log = opened();
    let piece = "0123456789".repeat(100);
    for seq in 6..106 {
        log.publish_pieces(MESSAGE, &[(seq, text(0, &piece))]);
    }
    let alone = log.weight();
    let mut readers: Vec<Watcher> = (0..1_000).map(|_| log.watch()).collect();
    for (reader, cursor) in readers.iter_mut().zip((4..105).cycle()) {
        let Look::Frames(stretch) = reader.look(cursor) else { panic!() };
        // Kept for others where they keep up, and by nobody where not.
        assert_eq!(Arc::strong_count(&stretch), if cursor >= 101 { 2 } else { 1 }, "at {cursor}");
    }
    assert_eq!(log.weight(), alone);
    assert_eq!(log.watchers(), 1_000);
}

#[test]
fn a_reader_of_one_turn_gets_nothing_behind_its_terminal_frame() {
    let line = |seq, ends| Line { seq: Some(seq), json: Vec::new(), ends };
    let stretch = Stretch::new(4, vec![line(5, None), line(6, Some(TURN)), line(7, None)]);
    let cut = stretch.up_to_end_of(TURN).unwrap();
    assert_eq!((cut.lines().len(), cut.cursor()), (2, 6));
    assert!(stretch.up_to_end_of(TurnId(Uuid::from_u128(9))).is_none());
}

#[test]
fn a_snapshot_is_the_whole_running_turn_read_a_stretch_at_a_time() {
    let log = opened();
    let begun = log.head().unwrap();
    let piece = "x".repeat(1_000);
    let count = 3 * log::LOOK_LIMIT as u64 / 1_000;
    for n in 1..=count {
        log.publish_pieces(MESSAGE, &[(begun + n, text(0, &piece))]);
    }
    let (stretches, head) = log.snapshot().unwrap();
    assert!(stretches.len() > 2, "nobody who writes waits for the whole");
    let mut transcript = Transcript::default();
    for line in stretches.iter().flat_map(|stretch| stretch.lines()) {
        transcript.fold(serde_json::from_slice(&line.json).unwrap());
    }
    let [entry] = transcript.entries() else { panic!("{transcript:?}") };
    assert_eq!(entry.parts, [Part::text(piece.repeat(usize::try_from(count).unwrap()))]);
    assert_eq!((head, stretches.last().map(|stretch| stretch.cursor())), (begun + count, Some(begun + count)));
    log.publish_frames(&[(head + 1, finish())]);
    assert_eq!(log.snapshot(), None, "what has ended is in the store");
}
