use super::*;
use crate::vocabulary::{
    Hop, MemoryId, ModelParams, Npc, NpcId, Recollection, SkillHead, Summary, SummaryMaker, Timestamp,
};
use roster::Passing;
use uuid::Uuid;

fn npc(n: u128, name: &str, job: &str, description: &str) -> Npc {
    Npc {
        id: NpcId(Uuid::from_u128(n)),
        slug: name.to_lowercase(),
        name: name.into(),
        job_title: job.into(),
        description: description.into(),
        instructions: String::new(),
        provider_id: None,
        model: None,
        params: ModelParams::default(),
    }
}

fn mara() -> Npc {
    let described = npc(1, "Mara", "Innkeeper", "Runs the Green Lantern and knows everyone's business.");
    Npc { instructions: "Answer in at most three sentences.".into(), ..described }
}

fn party() -> Vec<Npc> {
    vec![
        mara(),
        npc(2, "Bo", "Smith", "Forges ploughs and hinges. Distrusts anyone from the hills."),
        npc(3, "Ike", "", ""),
    ]
}

fn skills() -> Vec<SkillHead> {
    let head = |name: &str, description: &str| SkillHead { name: name.into(), description: description.into() };
    vec![head("brewing", "How to brew\n small beer."), head("ledger", "Keeps the inn's books.")]
}

fn recollections() -> Vec<Recollection> {
    let at = Timestamp::from_millis(1_780_000_000_000);
    let one = |text: &str| Recollection { id: MemoryId(Uuid::nil()), text: text.into(), updated_at: at };
    vec![one("Pia is allergic to nuts."), one("Pia's horse is\ncalled Ash.")]
}

fn summarised() -> Summary {
    Summary {
        version: 1,
        text: "Pia asked for a room for two nights; Mara offered the attic for 3 silver.".into(),
        from_position: 0,
        through_position: 9,
        made_by: SummaryMaker::Model,
        created_at: Timestamp::default(),
    }
}

fn whole(sections: impl IntoIterator<Item = Option<Section>>) -> String {
    assemble(&ordered(sections.into_iter().flatten().collect()))
}

#[test]
fn alone_with_nothing_there_is_the_identity_only() {
    let bare = npc(1, "Mara", "", "");
    let prompt = whole([
        Some(identity::section(&bare)),
        instructions::section(&bare),
        roster::section(std::slice::from_ref(&bare), bare.id, Passing::default(), None),
    ]);
    insta::assert_snapshot!(prompt, @r"
    # Who you are
    You are Mara.
    ");
}

#[test]
fn alone_with_instructions() {
    insta::assert_snapshot!(whole([Some(identity::section(&mara())), instructions::section(&mara())]), @r"
    # Who you are
    You are Mara, Innkeeper.
    Runs the Green Lantern and knows everyone's business.

    # Instructions
    Answer in at most three sentences.
    ");
}

#[test]
fn in_a_party() {
    let passing = Passing { hop: Hop { count: 0, limit: 6 }, back_and_forth: 0 };
    let roster = roster::section(&party(), mara().id, passing, Some("message_npc"));
    insta::assert_snapshot!(whole([Some(identity::section(&mara())), roster]), @r"
    # Who you are
    You are Mara, Innkeeper.
    Runs the Green Lantern and knows everyone's business.

    # Who else is here
    Each answers in their own name; yours is never written before your words.
    - Bo (Smith): Forges ploughs and hinges.
    - Ike
    To let one of them go on, call `message_npc` with their name and what they need to know; your part ends with it.
    ");
}

#[test]
fn with_everything_in_its_order_whatever_the_order_of_its_coming() {
    let passing = Passing { hop: Hop { count: 6, limit: 6 }, back_and_forth: 0 };
    let plugin = Section { place: Place::Plugins, text: "# Weather\nIt rains.".into() };
    let prompt = whole([
        Some(plugin),
        summary::section(Some(&summarised())),
        roster::section(&party(), mara().id, passing, Some("message_npc")),
        memory::section("Pia", &recollections()),
        unreachable::section(&["files".into(), "clock".into()]),
        skills::section(&skills(), "load_skill"),
        instructions::section(&mara()),
        Some(identity::section(&mara())),
    ]);
    insta::assert_snapshot!(prompt, @r"
    # Who you are
    You are Mara, Innkeeper.
    Runs the Green Lantern and knows everyone's business.

    # Instructions
    Answer in at most three sentences.

    # Skills
    Before a task that one of these fits, load its instructions with `load_skill`.
    - brewing: How to brew small beer.
    - ledger: Keeps the inn's books.

    # Not available now
    These could not be reached, and their tools are missing this time: files, clock. If the task needs one of them, say so.

    # What you remember
    From earlier talks with Pia:
    - (2026-05-28) Pia is allergic to nuts.
    - (2026-05-28) Pia's horse is called Ash.

    # Who else is here
    Each answers in their own name; yours is never written before your words.
    - Bo (Smith): Forges ploughs and hinges.
    - Ike
    No further hand-over is possible in this turn: bring it to a close yourself, with what is known.

    # Earlier in this conversation
    A summary of what was said before the messages below:
    Pia asked for a room for two nights; Mara offered the attic for 3 silver.

    # Weather
    It rains.
    ");
}

#[test]
fn a_roster_tells_the_last_speaker_and_two_who_go_round_in_circles_to_close() {
    let text = |count, back_and_forth| {
        let passing = Passing { hop: Hop { count, limit: 6 }, back_and_forth };
        let section = roster::section(&party(), mara().id, passing, Some("message_npc")).unwrap();
        section.text.lines().last().unwrap_or_default().to_owned()
    };
    insta::assert_snapshot!(text(6, 0), @r"No further hand-over is possible in this turn: bring it to a close yourself, with what is known.");
    insta::assert_snapshot!(text(3, 2), @r"You two have passed this back and forth: bring it to a close yourself instead of passing it on again.");
    assert!(!text(5, 1).contains("close"));
}

#[test]
fn a_roster_takes_a_sentence_of_each_and_never_half_a_character() {
    assert_eq!(roster::first_sentence("Forges hinges. Distrusts hills."), "Forges hinges.");
    assert_eq!(roster::first_sentence("  Speaks v2.0\nof the old tongue"), "Speaks v2.0 of the old tongue");
    let long = format!("{}👩‍🌾👩‍🌾", "x".repeat(159));
    assert_eq!(roster::first_sentence(&long), format!("{}👩‍🌾…", "x".repeat(159)));
    assert_eq!(roster::first_sentence(""), "");
}

#[test]
fn a_section_that_grows_beyond_its_bound_is_cut_and_says_so() {
    let endless = Section { place: Place::Memory, text: "é".repeat(SECTION_LIMIT + 1) };
    let kept = ordered(vec![endless]).remove(0).text;
    assert!(kept.ends_with("é\n(cut here: there is more than fits)"), "{}", kept.len());
    let own = Section { place: Place::Instructions, text: "x".repeat(SECTION_LIMIT + 1) };
    assert_eq!(ordered(vec![own.clone()]), [own]);
}

#[test]
fn what_is_blank_is_absent() {
    assert_eq!(ordered(vec![Section { place: Place::Plugins, text: " \n".into() }]), []);
    assert_eq!((skills::section(&[], "x"), unreachable::section(&[]), memory::section("Pia", &[])), (None, None, None));
    assert_eq!(summary::section(Some(&Summary { text: " ".into(), ..summarised() })), None);
}
