use uuid::Uuid;

use super::*;

const DAY: i64 = 24 * 3_600_000;
const NOW: Timestamp = Timestamp::from_millis(400 * DAY);

fn memory(n: u128, text: &str, days_old: i64, score: f64) -> Candidate {
    let updated_at = NOW.plus_millis(-days_old * DAY);
    Candidate { recollection: Recollection { id: MemoryId(Uuid::from_u128(n)), text: text.into(), updated_at }, score }
}

/// The texts that come back, in their order.
fn check(indexes: Vec<Vec<Candidate>>, limits: RecallLimits) -> Vec<String> {
    ranked(indexes, NOW, limits).into_iter().map(|recollection| recollection.text).collect()
}

fn all() -> RecallLimits {
    RecallLimits::default()
}

#[test]
fn what_fits_best_comes_first_whatever_the_scale_of_its_index() {
    let words = vec![memory(1, "a horse", 0, 0.002), memory(2, "a cat", 0, 0.004)];
    let meaning = vec![memory(3, "an ox", 0, 70.0), memory(4, "a cow", 0, 100.0), memory(1, "a horse", 0, 90.0)];
    assert_eq!(check(vec![words, meaning], all()), ["a horse", "a cow", "a cat", "an ox"]);
}

#[test]
fn of_two_that_fit_alike_the_newer_comes_first() {
    let found = vec![memory(1, "an old one", 90, 1.0), memory(2, "something new", 1, 1.0)];
    assert_eq!(check(vec![found], all()), ["something new", "an old one"]);
}

#[test]
fn age_never_buries_what_fits_much_better() {
    let found = vec![memory(1, "allergic to nuts", 399, 1.0), memory(2, "likes the rain", 0, 0.45)];
    assert_eq!(check(vec![found], all()), ["allergic to nuts", "likes the rain"]);
}

#[test]
fn a_memory_from_the_future_is_as_good_as_a_new_one_and_no_better() {
    let found = vec![memory(1, "one", -500, 0.9), memory(2, "two", 0, 1.0)];
    assert_eq!(check(vec![found], all()), ["two", "one"]);
}

#[test]
fn near_copies_come_back_once() {
    let found = vec![
        memory(1, "Pia is allergic to peanuts and to shellfish.", 0, 1.0),
        memory(2, "pia is allergic to peanuts, and to shellfish!", 1, 0.9),
        memory(3, "Pia is allergic to peanuts and to wasps and cats", 1, 0.8),
    ];
    let kept = check(vec![found], all());
    assert_eq!(
        kept,
        ["Pia is allergic to peanuts and to shellfish.", "Pia is allergic to peanuts and to wasps and cats"]
    );
}

#[test]
fn what_shares_nothing_but_common_words_is_left_out() {
    let found = vec![memory(1, "one", 0, 5.0), memory(2, "two", 0, 0.000_01)];
    assert_eq!(check(vec![found], all()), ["one"]);
}

#[test]
fn the_bounds_hold_and_a_shorter_one_takes_the_room_that_a_long_one_could_not() {
    let long = "x".repeat(3_000);
    let longer = "y".repeat(2_000);
    let found = vec![memory(1, &long, 0, 1.0), memory(2, &longer, 0, 0.9), memory(3, "short", 0, 0.8)];
    assert_eq!(check(vec![found], all()), [long.as_str(), "short"]);
    let many = (1..40).map(|n| memory(n, &format!("number{n}"), 0, 1.0)).collect();
    assert_eq!(check(vec![many], all()).len(), 8);
}

#[test]
fn scores_that_are_none_bring_nothing() {
    let found = vec![memory(1, "one", 0, 0.0), memory(2, "two", 0, -1.0)];
    assert_eq!(check(vec![found, Vec::new()], all()), Vec::<String>::new());
    assert_eq!(check(vec![vec![memory(1, "one", 0, f64::INFINITY)]], all()), Vec::<String>::new());
    assert_eq!(check(vec![vec![memory(1, "one", 0, f64::NAN)]], all()), Vec::<String>::new());
}

#[test]
fn a_question_is_its_distinct_words_without_what_would_be_syntax() {
    let found = terms("NEAR(\"cat\" dog*, 5) AND -text:cat^2 OR don't 🐈 \u{0}x");
    let expected = ["near", "text", "don't", "cat", "dog", "and", "or", "5", "2", "x"];
    let (mut found, mut expected) = (found, expected.map(str::to_owned).to_vec());
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_huge_question_is_a_few_of_its_longest_words() {
    let text: String = (0..20_000).map(|n| format!("w{n} ")).chain([" extraordinarily".to_owned()]).collect();
    let found = terms(&format!("extraordinary {text}"));
    assert_eq!((found.len(), found[0].as_str()), (TERMS_LIMIT, "extraordinary"));
    assert_eq!(terms(&"a".repeat(100_000)), Vec::<String>::new());
    assert_eq!(terms("🐈🐈 ... \"\" ** ()"), Vec::<String>::new());
}

#[test]
fn the_same_thing_said_with_other_punctuation_has_the_same_key() {
    assert_eq!(key("Pia likes\n TEA."), key(" pia likes tea!"));
    assert_ne!(key("Pia likes tea"), key("Pia likes teas"));
    assert_ne!(key("it is -5"), key("it is 5"));
    assert_ne!(key("Pia writes C++"), key("Pia writes C"));
    assert_eq!(key(" ... "), "...");
    assert_eq!((key("🍎"), key(" 🍎 ")), ("🍎".to_owned(), "🍎".to_owned()));
}

#[test]
fn pairs_are_of_scripts_without_spaces_only() {
    assert_eq!(pairs("ab 我喜欢 x"), HashSet::from([('我', '喜'), ('喜', '欢')]));
    assert!(pairs("plain words").is_empty());
    assert!(pairs(&"我喜欢苹果".repeat(20_000)).len() <= 5);
}
