//! What falls out of the window: it is in the stored summary before the request goes out, and the summary follows the
//! branch that the transcript is on.

use hamlet::store::{conversations, summaries};
use hamlet_actors::{
    ports::RequestItem,
    vocabulary::{MessageStatus, Summary, SummaryMaker},
};
use hamlet_test_support::{ScriptedProvider, TestVillage};

/// One exchange, some 100 characters a side: 50 tokens.
async fn exchange(village: &TestVillage, n: usize) {
    let script = village.provider.expect();
    script.text(&format!("Answer {n}. {}", "a".repeat(90)));
    script.finish();
    let begun = village.say(&format!("Question {n}. {}", "q".repeat(89))).await;
    assert_eq!(village.ended(begun.message).await.message.status, MessageStatus::Complete);
}

async fn kept(village: &TestVillage) -> Vec<(Summary, bool)> {
    let (id, player) = (village.conversation, village.player);
    village
        .store
        .read(move |conn| {
            let row = conversations::of_player(conn, id, player)?;
            summaries::all(conn, row.key)
        })
        .await
        .unwrap()
}

fn first_words(items: &[RequestItem]) -> String {
    match &items[0] {
        RequestItem::User { text } => text.chars().take(11).collect(),
        other => unreachable!("{other:?}"),
    }
}

#[tokio::test]
async fn what_falls_off_is_in_the_stored_summary_before_the_request_goes_out() {
    let village = TestVillage::new().await;
    village.planner.limit_window(400);
    let mut n = 0;
    while kept(&village).await.is_empty() {
        exchange(&village, n).await;
        n += 1;
        assert!(n < 20, "the window never overflowed");
    }
    let (summary, in_use) = kept(&village).await.remove(0);
    assert!(in_use);
    assert_eq!((summary.version, summary.from_position, summary.made_by), (1, 0, SummaryMaker::Extract));
    assert!(summary.text.starts_with("- Pia: Question 0."), "{}", summary.text);
    let asked = village.provider.asked(n - 1).await;
    assert!(asked.system.contains("# Earlier in this conversation") && asked.system.contains("- Pia: Question 0."));
    // The window begins right behind what the summary covers.
    let first = (summary.through_position + 1) / 2;
    assert_eq!(first_words(&asked.items), format!("Question {first}."));
    // And it does so from the store as well.
    let restarted = village.killed_and_restarted().await;
    restarted.planner.limit_window(400);
    exchange(&restarted, n).await;
    let again = restarted.provider.asked(0).await;
    assert_eq!((again.system, first_words(&again.items)), (asked.system, first_words(&asked.items)));
}

#[tokio::test]
async fn a_long_history_without_a_summary_is_summarised_once_and_never_held_whole() {
    let village = TestVillage::new().await;
    for n in 0..30 {
        exchange(&village, n).await;
    }
    let restarted = village.killed_and_restarted().await;
    restarted.planner.limit_window(300);
    exchange(&restarted, 30).await;
    let versions = kept(&restarted).await;
    let (newest, _) = &versions[0];
    assert!(newest.text.contains("- Pia: Question 0.") && newest.text.contains("- Ada: Answer 20."), "{}", newest.text);
    let asked = restarted.provider.asked(0).await;
    assert_eq!(first_words(&asked.items), format!("Question {}", (newest.through_position + 1) / 2));
}

#[tokio::test]
async fn a_version_that_covers_what_was_left_is_out_of_use_and_the_one_before_counts_again() {
    let village = TestVillage::new().await;
    village.planner.limit_window(400);
    let mut n = 0;
    while kept(&village).await.len() < 2 {
        exchange(&village, n).await;
        n += 1;
    }
    let versions = kept(&village).await;
    let (newest, before) = (&versions[0].0, &versions[1].0);
    let covered = newest.through_position;
    let moved = village.stored().await.into_iter().find(|stored| stored.message.position == covered).unwrap();
    let (id, player, message) = (village.conversation, village.player, moved.message.id);
    village
        .store
        .write(move |conn| {
            let row = conversations::of_player(conn, id, player)?;
            summaries::leave(conn, row.key, &[message])
        })
        .await
        .unwrap();
    let now = kept(&village).await;
    assert_eq!(
        now.iter().map(|(summary, in_use)| (summary.version, *in_use)).collect::<Vec<_>>(),
        [(2, false), (1, true)]
    );
    assert_eq!(&now[1].0, before);
}

#[tokio::test]
async fn a_summary_is_made_ahead_of_need_by_the_utility_model_and_the_next_turn_begins_behind_it() {
    let village = TestVillage::new().await;
    let small = ScriptedProvider::new();
    village.planner.limit_window(400);
    village.planner.ask_for_work(&small);
    let minutes = small.expect();
    let mut n = 0;
    while small.times_asked() == 0 {
        exchange(&village, n).await;
        n += 1;
        assert!(n < 20, "no summary was asked for");
        tokio::task::yield_now().await;
    }
    let asked = small.asked(0).await;
    assert!(asked.system.contains("between Pia, Ada"), "{}", asked.system);
    assert!(format!("{:?}", asked.items).contains("Pia: Question 0."));
    assert_eq!(kept(&village).await, [], "nobody waited for it");
    minutes.text("Pia asked things.");
    minutes.finish();
    let kept = loop {
        match kept(&village).await.pop() {
            Some((summary, _)) => break summary,
            None => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
        }
    };
    assert_eq!((kept.made_by, kept.text.as_str()), (SummaryMaker::Model, "Pia asked things."));
    exchange(&village, n).await;
    let next = village.provider.asked(n).await;
    assert!(next.system.ends_with("Pia asked things."), "{}", next.system);
    assert_eq!(first_words(&next.items), format!("Question {}.", (kept.through_position + 1) / 2));
}

#[tokio::test]
async fn a_summary_that_comes_too_late_is_not_kept() {
    let village = TestVillage::new().await;
    let small = ScriptedProvider::new();
    village.planner.limit_window(400);
    village.planner.ask_for_work(&small);
    let minutes = small.expect();
    let mut n = 0;
    while kept(&village).await.is_empty() {
        exchange(&village, n).await;
        n += 1;
    }
    assert_eq!(small.times_asked(), 1, "one at a time");
    minutes.text("Old news.");
    minutes.finish();
    // Its task is over when the next one is asked for.
    let next = small.expect();
    while small.times_asked() < 2 {
        exchange(&village, n).await;
        n += 1;
    }
    drop(next);
    assert!(kept(&village).await.iter().all(|(summary, _)| summary.made_by == SummaryMaker::Extract));
}
