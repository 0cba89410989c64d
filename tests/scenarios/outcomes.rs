//! Whatever becomes of a batch (stored, rolled back, nobody can say), at each point of a turn: what watchers see is what is
//! stored, the turn has one end, nobody is told that something was stored that was not, and the next turn works.

use hamlet_actors::{
    engine::EngineError,
    vocabulary::{ErrorCode, MessageStatus, Role, Transcript, TurnId},
};
use hamlet_test_support::{Fault, Onlooker, Point, Seen, TestVillage};

/// What became of a turn in which one thing went wrong.
#[derive(Debug, PartialEq, Eq)]
struct Story {
    /// What whoever sent the Message was told.
    told: Result<(), ErrorCode>,
    /// The reply as it is stored; None when nothing of the turn is.
    stored: Option<(MessageStatus, String)>,
}

fn stored(status: MessageStatus, text: &str) -> Option<(MessageStatus, String)> {
    Some((status, text.to_owned()))
}

async fn turn(village: &TestVillage, text: &str) -> TurnId {
    let script = village.provider.expect();
    let begun = village.say(text).await;
    script.text("Yes.");
    script.finish();
    // Stored first, then shown: the actor is idle again.
    village.tab(begun.cursor).await.until_ended().await;
    assert_eq!(village.newest().await.message.status, MessageStatus::Complete);
    begun.turn
}

/// Says something, with the fault on the way, and checks what holds whatever happens.
async fn told(point: Point, fault: Fault) -> Story {
    let village = TestVillage::new().await;
    turn(&village, "First").await;
    let mut early = village.onlooker(0).await;
    early.until_text("Yes.").await;
    if point != Point::End {
        village.journal.once(point, fault);
    }
    let script = village.provider.expect();
    let (begin, plan) = village.say_with("Second");
    let (asked, reply) = (begin.turn, begin.reply);
    let begun = village.engine.begin(village.conversation, begin, plan).await;
    if begun.is_ok() {
        script.text("Half");
        if point == Point::End {
            early.until_text("Half").await;
            village.journal.once(point, fault);
        }
        script.text(" whole");
        script.finish();
        village.ended(reply).await;
    } else {
        // It may have been asked already, or not.
        village.provider.expect_no_more();
        village.awake().await;
    }
    let after = village.say_after(asked).await;
    check_all_see_what_is_stored(&village, vec![early, village.onlooker(0).await], &[asked, after]).await;
    let rows = village.stored().await;
    let of_turn: Vec<_> = rows.iter().filter(|row| row.message.turn_id == asked).collect();
    let said = of_turn.iter().filter(|row| row.message.role == Role::Player).count();
    assert_eq!(said, of_turn.len() / 2, "a reply and what it answers are stored together");
    if begun.is_ok() {
        assert_eq!(said, 1, "what was said to be stored is");
    }
    let reply = of_turn.iter().find(|row| row.message.id == reply);
    Story {
        told: begun.map(|_| ()).map_err(|error: EngineError| error.code()),
        stored: reply.map(|row| (row.message.status, row.message.text.clone())),
    }
}

/// Every tab ends with what a reload shows, and each turn that is stored has one terminal frame, in the store and in
/// each tab that saw it.
async fn check_all_see_what_is_stored(village: &TestVillage, tabs: Vec<Onlooker>, turns: &[TurnId]) {
    let rows = village.stored().await;
    let reload = Transcript::of(rows.iter().map(|row| row.message.clone()));
    let last = turns[turns.len() - 1];
    let mut cursors = Vec::new();
    for mut tab in tabs {
        let seen: Seen = tab.until_end_of(last).await;
        assert_eq!(seen.transcript.entries(), reload.entries());
        for turn in turns {
            let ends = rows.iter().filter(|row| row.message.turn_id == *turn && row.terminal).count();
            assert_eq!(seen.ends_of(*turn), ends);
            assert!(ends <= 1);
        }
        cursors.push(seen.cursor);
    }
    assert_eq!(cursors[0], cursors[1], "where a tab comes back does not depend on what it went through");
}

trait After {
    async fn awake(&self);
    async fn say_after(&self, turn: TurnId) -> TurnId;
}

impl After for TestVillage {
    /// Nothing runs any more, and somebody is there to be asked.
    async fn awake(&self) {
        self.engine.abort(self.conversation, None).await.unwrap();
    }

    /// The next turn, which works.
    async fn say_after(&self, asked: TurnId) -> TurnId {
        let next = turn(self, "Third").await;
        assert_ne!(next, asked);
        next
    }
}

#[tokio::test]
async fn an_admission_is_told_as_stored_only_when_it_is() {
    let unavailable = Err(ErrorCode::StoreUnavailable);
    let failed = stored(MessageStatus::Failed, "");
    let expected = [
        (Fault::RolledBack, unavailable, None),
        (Fault::Unsettled, unavailable, None),
        (Fault::UnknownStored, unavailable, failed.clone()),
        (Fault::UnknownLost, unavailable, None),
        // Asked again, of the next instance, under the same ticket: it is stored once.
        (Fault::Panics, Ok(()), stored(MessageStatus::Complete, "Half whole")),
        (Fault::PanicsBehind, Ok(()), failed),
    ];
    for (fault, said, kept) in expected {
        assert_eq!(told(Point::Admission, fault).await, Story { told: said, stored: kept }, "{fault:?}");
    }
}

#[tokio::test]
async fn promise_4_pieces_are_kept_unless_nobody_can_say_what_became_of_them() {
    let expected = [
        (Fault::RolledBack, MessageStatus::Complete, "Half whole"),
        (Fault::Unsettled, MessageStatus::Complete, "Half whole"),
        (Fault::UnknownStored, MessageStatus::Failed, "Half"),
        (Fault::UnknownLost, MessageStatus::Failed, ""),
        (Fault::Panics, MessageStatus::Failed, ""),
        (Fault::PanicsBehind, MessageStatus::Failed, "Half"),
    ];
    for (fault, status, text) in expected {
        let story = told(Point::Pieces, fault).await;
        assert_eq!(story.told, Ok(()), "{fault:?}");
        let (found, kept) = story.stored.unwrap();
        // Pieces that come while a batch is on its way go with the next one.
        assert_eq!((found, text.starts_with(&kept) || kept.starts_with(text)), (status, true), "{fault:?}: {kept}");
        if status == MessageStatus::Complete || fault == Fault::UnknownLost || fault == Fault::Panics {
            assert_eq!(kept, text, "{fault:?}");
        }
    }
}

#[tokio::test]
async fn promise_8_an_end_comes_once_whatever_becomes_of_its_commit() {
    let expected = [
        (Fault::RolledBack, MessageStatus::Complete, "Half whole"),
        (Fault::Unsettled, MessageStatus::Complete, "Half whole"),
        (Fault::UnknownStored, MessageStatus::Complete, "Half whole"),
        (Fault::UnknownLost, MessageStatus::Failed, "Half"),
        (Fault::Panics, MessageStatus::Failed, "Half"),
        (Fault::PanicsBehind, MessageStatus::Complete, "Half whole"),
    ];
    for (fault, status, text) in expected {
        let story = told(Point::End, fault).await;
        let (found, kept) = story.stored.unwrap();
        assert_eq!((story.told, found), (Ok(()), status), "{fault:?}");
        assert!(kept == text || (status == MessageStatus::Failed && kept == "Half whole"), "{fault:?}: {kept}");
    }
}
