use hamlet_actors::{
    conversation::Begun,
    ports::RequestItem,
    vocabulary::{MessageStatus, Role},
};
use hamlet_test_support::{Script, TestVillage};

async fn answered(village: &TestVillage, script: Script, begun: Begun, text: &str) {
    if !text.is_empty() {
        script.text(text);
    }
    script.finish();
    village.tab(begun.cursor).await.until_ended().await;
}

async fn texts(village: &TestVillage) -> Vec<String> {
    village.stored().await.into_iter().map(|stored| stored.message.text).collect()
}

#[tokio::test]
async fn a_reply_is_made_anew_and_the_players_text_is_not_posted_again() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    answered(&village, script, begun, "Old.").await;
    let script = village.provider.expect();
    let begun = village.regenerate().await.unwrap();
    let mut tab = village.tab(0).await;
    tab.cursor = begun.cursor;
    script.text("New.");
    tab.until_text("New.").await;
    answered(&village, script, begun, "").await;
    let stored = village.stored().await;
    assert_eq!(texts(&village).await, ["Hello", "New."]);
    assert_eq!(stored.iter().filter(|stored| stored.message.role == Role::Player).count(), 1);
    assert_eq!(stored[1].message.variant_count, 2, "the old reply is kept as a variant");
    let request = village.provider.asked(1).await;
    assert_eq!(
        request.items,
        vec![RequestItem::User { text: "Hello".into() }],
        "the model does not see its earlier reply"
    );
}

#[tokio::test]
async fn one_that_fails_before_it_produced_anything_leaves_the_old_reply() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    answered(&village, script, begun, "Old.").await;
    let script = village.provider.expect();
    let begun = village.regenerate().await.unwrap();
    script.fail();
    village.tab(begun.cursor).await.until_ended().await;
    assert_eq!(texts(&village).await, ["Hello", "Old.", ""]);
    assert_eq!(village.newest().await.message.status, MessageStatus::Failed);
    let script = village.provider.expect();
    let begun = village.regenerate().await.unwrap();
    answered(&village, script, begun, "At last.").await;
    assert_eq!(texts(&village).await, ["Hello", "At last."], "all trailing replies leave, the failed one too");
}

#[tokio::test]
async fn the_turn_after_a_regenerate_is_told_the_new_reply() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    answered(&village, script, begun, "Old.").await;
    let script = village.provider.expect();
    let begun = village.regenerate().await.unwrap();
    answered(&village, script, begun, "New.").await;
    village.say("And?").await;
    let request = village.provider.asked(2).await;
    let said: Vec<String> = request.items.iter().map(|item| format!("{item:?}")).collect();
    assert!(said.len() == 3 && said[1].contains("New."), "{said:?}");
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_regenerate_keeps_the_new_part_or_the_old_reply() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    answered(&village, script, begun, "Old.").await;
    let script = village.provider.expect();
    let begun = village.regenerate().await.unwrap();
    let before = village.killed_and_restarted().await;
    assert_eq!(texts(&before).await, ["Hello", "Old.", ""]);
    let mut tab = village.tab(begun.cursor).await;
    script.text("New");
    tab.until_text("New").await;
    let after = village.killed_and_restarted().await;
    assert_eq!(texts(&after).await, ["Hello", "New"]);
}
