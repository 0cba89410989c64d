use std::sync::Mutex;

use futures_util::stream;
use hamlet_actors::{
    capability::Passing,
    ports::{End, ModelRequest, Provider, ProviderEvent, ProviderEvents, ProviderFailure, RequestItem},
    vocabulary::{
        ConversationId, Delta, ErrorCode, ErrorKind, FinishReason, ModelParams, Npc, NpcId, PlayerId, ProviderId,
        TurnId,
    },
};
use serde_json::json;

use super::*;
use crate::{http::village::testing::TestVillage, store::settings as stored};

#[test]
fn a_title_is_cleaned_and_anything_else_is_none() {
    let table = [
        ("Baking rye bread", Some("Baking rye bread")),
        ("  \"Baking rye bread.\"\n", Some("Baking rye bread")),
        ("**Baking *rye* bread**", Some("Baking *rye* bread")),
        ("# Title: „Brot backen“", Some("Brot backen")),
        ("Titel: Brot backen.", Some("Brot backen")),
        ("Here is a title:\n\n- “Baking bread”", Some("Baking bread")),
        ("«Le pain»…", Some("Le pain")),
        ("「パンの焼き方」。", Some("パンの焼き方")),
        ("`cargo check` fails", Some("cargo check fails")),
        ("What is bread?", Some("What is bread?")),
        ("Bread: a history", Some("Bread: a history")),
        ("Bread\nI chose this because it is short.", Some("Bread")),
        ("Bread   and\tbutter", Some("Bread and butter")),
        ("'Tis the season", Some("'Tis the season")),
        ("Sorry songs of the sea", Some("Sorry songs of the sea")),
        ("C#", Some("C#")),
        ("", None),
        (" \n ", None),
        ("...", None),
        ("\"\"", None),
        ("🍞", None),
        ("Here is a title:", None),
        ("I'm sorry, but I can't help with that.", None),
        ("I’m sorry.", None),
        ("\"I cannot do that\"", None),
        ("one two three four five six seven eight nine ten eleven twelve thirteen", None),
        ("Bread \u{202e}daerB", None),
        ("Bread \u{1b}[31m", None),
    ];
    for (answer, expected) in table {
        assert_eq!(title(answer).as_deref(), expected, "{answer:?}");
    }
    assert_eq!(title(&"a".repeat(201)), None);
    assert_eq!(title(&"パ".repeat(150)).map(|title| title.chars().count()), Some(80), "cut as every title is");
}

/// Answers every question alike and keeps what it was asked.
#[derive(Default)]
struct Played {
    events: Vec<ProviderEvent>,
    asked: Mutex<Vec<ModelRequest>>,
}

impl Provider for Played {
    fn id(&self) -> ProviderId {
        ProviderId(uuid::Uuid::nil())
    }

    fn name(&self) -> &str {
        "Played"
    }

    fn ask(&self, request: ModelRequest) -> ProviderEvents {
        self.asked.lock().unwrap().push(request);
        Box::pin(stream::iter([self.events.clone()]))
    }
}

fn says(text: &str) -> Vec<ProviderEvent> {
    let end = ProviderEvent::End(End::Complete(FinishReason::Stop));
    vec![ProviderEvent::Delta(Delta::Text(text.to_owned())), end]
}

fn turn(provider: Option<&Arc<Played>>) -> PastTurn {
    let npc = Npc {
        id: NpcId::generate(),
        slug: "ada".into(),
        name: "Ada".into(),
        job_title: String::new(),
        description: String::new(),
        instructions: String::new(),
        provider_id: None,
        model: None,
        params: ModelParams::default(),
    };
    let utility = provider.map(|provider| Model { provider: provider.clone(), name: "small".into() });
    let scene = Scene {
        conversation: ConversationId::generate(),
        player: PlayerId::generate(),
        player_name: "Cy".into(),
        party: Arc::from([npc.clone()]),
        npc,
        grants: Arc::from([]),
        question: "How do I bake bread?".into(),
        passing: Passing::default(),
        utility,
    };
    PastTurn {
        turn: TurnId::generate(),
        scene: Arc::new(scene),
        status: MessageStatus::Complete,
        reply: "Knead, rest, bake.".into(),
        first: true,
        title: Some("How do I bake bread?".into()),
    }
}

async fn thought(village: &TestVillage, turn: PastTurn) -> Option<Afterthought> {
    let thinking = Titles::new(village.state.clone()).turn_ended(Arc::new(turn))?;
    Some(thinking.await.unwrap())
}

#[tokio::test]
async fn the_first_exchange_gets_a_title_of_the_utility_model() {
    let village = TestVillage::new().await;
    let provider = Arc::new(Played { events: says("\"Baking bread.\""), ..Played::default() });
    let titled = Some(Afterthought::Title("Baking bread".into()));
    assert_eq!(thought(&village, turn(Some(&provider))).await, titled);
    let untitled = PastTurn { title: None, ..turn(Some(&provider)) };
    assert_eq!(thought(&village, untitled).await, titled);
    let asked = provider.asked.lock().unwrap();
    let RequestItem::User { text } = &asked[0].items[0] else { panic!("{asked:?}") };
    let exchange = "<conversation>\nCy: How do I bake bread?\n\nAda: Knead, rest, bake.\n</conversation>";
    assert_eq!((asked[0].model.as_str(), &**text), ("small", exchange));
}

#[tokio::test]
async fn nothing_is_asked_when_there_is_nothing_to_name_or_nobody_to_ask() {
    let village = TestVillage::new().await;
    let provider = Arc::new(Played { events: says("Bread"), ..Played::default() });
    let base = || turn(Some(&provider));
    for turn in [
        PastTurn { first: false, ..base() },
        PastTurn { status: MessageStatus::Aborted, ..base() },
        PastTurn { status: MessageStatus::Failed, ..base() },
        PastTurn { title: Some("My own".into()), ..base() },
        turn(None),
    ] {
        assert_eq!(thought(&village, turn).await, None);
    }
    let off = |conn: &rusqlite::Connection| stored::set(conn, "titles", &json!(false));
    village.state.store.write(off).await.unwrap();
    assert_eq!(thought(&village, base()).await, Some(Afterthought::Nothing));
    assert!(provider.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_answer_that_is_no_title_leaves_the_one_that_stands() {
    let village = TestVillage::new().await;
    let failure = ProviderFailure {
        code: ErrorCode::ProviderError,
        kind: ErrorKind::Server,
        message: "on fire".into(),
        status: Some(500),
        retryable: true,
    };
    let cut = vec![ProviderEvent::Delta(Delta::Text("Bre".into())), ProviderEvent::End(End::Truncated)];
    for events in [
        says(""),
        says("I'm sorry, I can't."),
        says(&"word ".repeat(100)),
        cut,
        Vec::new(),
        vec![ProviderEvent::End(End::Failed(failure))],
    ] {
        let provider = Arc::new(Played { events: events.clone(), ..Played::default() });
        assert_eq!(thought(&village, turn(Some(&provider))).await, Some(Afterthought::Nothing), "{events:?}");
    }
}

#[tokio::test]
async fn a_long_exchange_is_shown_in_part() {
    let village = TestVillage::new().await;
    let provider = Arc::new(Played { events: says("Bread"), ..Played::default() });
    let reply: Arc<str> = "ö".repeat(100_000).into();
    thought(&village, PastTurn { reply, ..turn(Some(&provider)) }).await;
    let asked = provider.asked.lock().unwrap();
    let RequestItem::User { text } = &asked[0].items[0] else { panic!("{asked:?}") };
    assert!(text.chars().count() < 2_200);
}
