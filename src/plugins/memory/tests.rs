use std::sync::Arc;

use hamlet_actors::{capability::Place, ports::Clock, vocabulary::Timestamp};
use serde_json::json;

use super::Remembering;
use crate::plugins::testing::{Bench, Heard};

/// Noon of the 28th of May 2026.
struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_779_969_600_000)
    }
}

async fn memory() -> Bench {
    Bench::of(|store| Arc::new(Remembering::new(Arc::new(store), Arc::new(Noon)))).await
}

#[tokio::test]
async fn what_was_remembered_stands_in_the_prompt_before_the_npc_asks() {
    let bench = memory().await;
    let said = bench.call("remember", json!({"text": "  Pia is allergic\nto nuts. "})).await;
    assert!(matches!(&said, Heard::Answer(text) if text.starts_with("Remembered as [")), "{said:?}");
    let sections = bench.sections("May I have nut cake?").await;
    assert_eq!(sections.len(), 1);
    assert_eq!(sections[0].place, Place::Memory);
    assert_eq!(
        sections[0].text,
        "# What you remember\nFrom earlier talks with Pia:\n- (2026-05-28) Pia is allergic to nuts."
    );
    assert!(bench.sections("🐈").await.is_empty());
}

#[tokio::test]
async fn an_npc_that_may_not_recall_is_told_nothing() {
    let mut bench = memory().await;
    bench.call("remember", json!({"text": "Pia is allergic to nuts."})).await;
    bench.grant(&["remember", "forget"]);
    assert!(bench.sections("nuts").await.is_empty());
}

#[tokio::test]
async fn what_is_recalled_is_listed_with_an_id_that_forgets_it() {
    let bench = memory().await;
    for text in ["Pia has a horse called Ash.", "Ash is a grey horse.", "Pia likes tea."] {
        bench.call("remember", json!({"text": text})).await;
    }
    let Heard::Answer(found) = bench.call("recall", json!({"query": "horse", "limit": 1})).await else { panic!() };
    assert_eq!(found.lines().count(), 1);
    let id = &found[1..9];
    let Heard::Error(several) = bench.call("forget", json!({"query": "horse"})).await else { panic!("two fit") };
    assert!(several.contains(&format!("[{id}]")), "{several}");
    let gone = bench.call("forget", json!({"id": format!("[{id}]")})).await;
    assert!(matches!(&gone, Heard::Answer(text) if text.starts_with("Forgotten: ")), "{gone:?}");
    let gone = bench.call("forget", json!({"query": "horse"})).await;
    assert!(matches!(&gone, Heard::Answer(text) if text.starts_with("Forgotten: ")), "{gone:?}");
    let nothing = bench.call("recall", json!({"query": "horse"})).await;
    assert!(matches!(&nothing, Heard::Answer(text) if text.starts_with("Nothing that you remember")), "{nothing:?}");
}

#[tokio::test]
async fn a_call_that_says_nothing_clear_changes_nothing_and_says_why() {
    let bench = memory().await;
    bench.call("remember", json!({"text": "Pia likes tea."})).await;
    for (tool, arguments, why) in [
        ("remember", json!({"text": " \n "}), "not remembered: the text is blank"),
        ("remember", json!({"text": "a\u{0}b"}), "not remembered: text holds control characters"),
        ("remember", json!({"text": "x".repeat(2_001)}), "not remembered: text has more than 2000 characters"),
        ("forget", json!({}), "nothing forgotten: give the id of a memory, or words that it holds"),
        ("forget", json!({"id": "a", "query": "tea"}), "nothing forgotten: give either an id or a query, not both"),
        ("forget", json!({"id": "%"}), "nothing forgotten: that is no id of a memory; it has 8 digits from 0 to f"),
        (
            "forget",
            json!({"id": "00000000"}),
            "nothing forgotten: no memory fits that; look it up with other words first",
        ),
    ] {
        assert_eq!(bench.call(tool, arguments.clone()).await, Heard::Error(why.to_owned()), "{tool} {arguments}");
    }
    assert_eq!(bench.sections("tea").await.len(), 1);
}

#[tokio::test]
async fn every_tool_is_in_the_catalog_under_its_key() {
    let bench = memory().await;
    let keys: Vec<String> = bench.capability.catalog().into_iter().map(|offer| offer.key).collect();
    assert_eq!(keys, ["remember", "recall", "forget"]);
}
