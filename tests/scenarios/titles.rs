//! A title that comes after the first exchange: a notice on the last Message, for every tab and every reload.

use hamlet_actors::vocabulary::{Frame, Part};
use hamlet_test_support::{Tab, TestVillage};

fn title_of(tab: &Tab) -> Option<String> {
    let told = tab.seen.iter().rev().find_map(|frame| match frame {
        Frame::Finish(finish) => Some(finish.conversation.title.clone()),
        _ => None,
    });
    told.flatten()
}

async fn exchange(village: &TestVillage) -> u64 {
    let script = village.provider.expect();
    script.text("Knead, rest, bake.");
    script.finish();
    let begun = village.say("How do I bake bread?").await;
    village.ended(begun.message).await;
    begun.cursor
}

#[tokio::test]
async fn a_late_title_is_a_notice_behind_the_first_reply_and_the_same_from_every_cursor() {
    let village = TestVillage::new().await;
    village.capability.title("Baking bread");
    let cursor = exchange(&village).await;
    let mut tab = village.tab(cursor).await;
    tab.until(|tab| title_of(tab).as_deref() == Some("Baking bread")).await;
    let notice = Part::Notice { code: "TITLE_CHANGED".into(), text: "Baking bread".into() };
    let expected = [Part::text("Knead, rest, bake."), notice];
    assert_eq!(tab.transcript.entries().last().unwrap().parts, expected);
    let stored = village.newest().await;
    assert_eq!((stored.message.parts.as_slice(), stored.last_seq), (expected.as_slice(), tab.cursor));
    assert_eq!(stored.message.text, "Knead, rest, bake.");
    // From the beginning, from its admission, and from where the turn had ended.
    for cursor in [0, 3, 6] {
        let mut back = village.onlooker(cursor).await;
        back.until(|seen| seen.transcript.entries().last().is_some_and(|entry| entry.parts == expected)).await;
    }
    let restarted = village.killed_and_restarted().await;
    assert_eq!(restarted.newest().await.message.parts, expected);
}
