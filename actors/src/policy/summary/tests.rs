use uuid::Uuid;

use super::*;
use crate::vocabulary::{Author, AuthorKind, MessageId, Role};

fn said(name: &str, text: &str) -> Said {
    let author = Author { kind: AuthorKind::Player, id: name.into(), name: name.into() };
    Said::new(MessageId(Uuid::nil()), 0, Role::Player, author, text)
}

fn extract(earlier: Option<&str>, talk: &[(&str, &str)]) -> String {
    let mut extract = Extract::after(earlier);
    for (name, text) in talk {
        extract.add(&said(name, text));
    }
    extract.text()
}

#[test]
fn an_extract_says_who_said_what_in_a_sentence_each() {
    let talk = [
        ("Pia", "Hello. I need a room for 2 nights! And stabling."),
        ("Mara", "The attic is free.\n\nIt costs 3 silver."),
        ("Pia", "  "),
        ("Pia", "Ok"),
    ];
    insta::assert_snapshot!(extract(None, &talk), @r"
    - Pia: Hello. I need a room for 2 nights!
    - Mara: The attic is free.
    - Pia: Ok
    ");
}

#[test]
fn it_goes_on_from_an_earlier_extract_and_keeps_what_a_person_or_a_model_wrote() {
    let first = extract(None, &[("Pia", "I need a room.")]);
    insta::assert_snapshot!(extract(Some(&first), &[("Mara", "The attic is free.")]), @r"
    - Pia: I need a room.
    - Mara: The attic is free.
    ");
    insta::assert_snapshot!(extract(Some("Pia took the attic for 3 silver.\n"), &[("Mara", "Breakfast is at seven.")]), @r"
    Pia took the attic for 3 silver.
    - Mara: Breakfast is at seven.
    ");
}

#[test]
fn it_never_grows_beyond_its_bound_and_keeps_numbers_and_names_longest() {
    let mut extract = Extract::after(None);
    extract.add(&said("Pia", "My horse Ash is 14 hands high and was born in Tarn."));
    for n in 0..5_000 {
        extract.add(&said("Mara", &"so it goes ".repeat(1 + n % 5)));
    }
    let text = extract.text();
    assert!(text.chars().count() <= SUMMARY_LIMIT, "{}", text.chars().count());
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(GAP));
    assert_eq!(lines.next(), Some("- Pia: My horse Ash is 14 hands high and was born in Tarn."));
    let again = Extract::after(Some(&text));
    assert_eq!(again.text(), text, "taken apart and put together it is the same");
}

#[test]
fn a_long_earlier_summary_leaves_room_and_is_cut_between_characters() {
    let long = "👩‍🌾".repeat(SUMMARY_LIMIT);
    let text = extract(Some(&long), &[("Pia", "What I say now counts.")]);
    assert!(text.ends_with("…\n- Pia: What I say now counts."), "{}", &text[text.len() - 60..]);
}

#[test]
fn one_sentence_without_end_is_cut() {
    let text = extract(None, &[("Pia", &"word ".repeat(2_000))]);
    assert!(text.chars().count() < LINE_LIMIT + 20 && text.ends_with('…'));
}

#[test]
fn a_summary_is_due_when_the_window_is_nearly_full_and_covers_what_falls_next() {
    let author = |role| Author {
        kind: if role == Role::Player { AuthorKind::Player } else { AuthorKind::Npc },
        id: "a".into(),
        name: "A".into(),
    };
    let window = |count: i64| {
        let one = |n: i64| {
            let role = if n % 2 == 0 { Role::Player } else { Role::Npc };
            Arc::new(Said::new(MessageId(Uuid::nil()), n, role, author(role), &"x".repeat(40)))
        };
        Window::of((0..count).map(one).collect())
    };
    assert_eq!(due(&window(8), 100), []);
    let falls: Vec<i64> = due(&window(10), 100).iter().map(|said| said.position).collect();
    assert_eq!(falls, [0, 1, 2, 3]);
    assert_eq!(due(&Window::default(), 100), []);
}

#[test]
fn a_model_is_told_the_earlier_minutes_and_what_was_said_since() {
    let since =
        [Arc::new(said("Pia", "A room, please.")), Arc::new(said("Pia", " ")), Arc::new(said("Mara", "The attic."))];
    insta::assert_snapshot!(material(Some("Pia came from Tarn. "), &since), @r"
    Earlier minutes:
    Pia came from Tarn.

    Said since:

    Pia: A room, please.

    Mara: The attic.
    ");
}
