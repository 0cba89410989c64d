use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::calculated;

fn check(expression: &str) -> String {
    calculated(expression).unwrap_or_else(|why| format!("! {why}"))
}

#[test]
fn decimals_are_exact_and_what_is_rounded_says_so() {
    for (expression, expected) in [
        ("1 + 2 * 3", "7"),
        ("0.1 + 0.2", "0.3"),
        ("19.99 * 3", "59.97"),
        ("1/8", "0.125"),
        ("1/3", "≈ 0.3333333333333333333333333333"),
        ("1/3 * 3", "≈ 1"),
        ("2^100", "1267650600228229401496703205376"),
        ("2^-2", "0.25"),
        ("2**3**2", "512"),
        ("-2^2", "-4"),
        ("(-2)^2", "4"),
        ("2^-1^2", "0.5"),
        ("10 % 4 - 7 % 7", "2"),
        ("1e3 + 1_000 + .5", "2000.5"),
        ("2e-3", "0.002"),
        ("5! / 4!", "5"),
        ("sqrt(16) + √9 + cbrt(27)", "10"),
        ("sqrt(2)", "≈ 1.414213562373095048801688724"),
        ("max(1, 2.5, -3) - min(4, 2)", "0.5"),
        ("round(2.5) + floor(-0.5) + ceil(0.2)", "3"),
        ("sin(pi/2)", "≈ 1"),
        ("ln(e)", "≈ 1"),
        ("log10(1000)", "≈ 3"),
        ("4^0.5", "≈ 2"),
        ("3 × 4 ÷ 2 − 1", "5"),
        ("0^5 + 1^99999999", "1"),
        ("12345678901234567890 * 98765432109876543210", "1219326311370217952237463801111263526900"),
        ("100 * 1000", "100000"),
        ("200000 * (0.06/12) / (1 - (1 + 0.06/12)^-360)", "≈ 1199.101050305504789182922487"),
        ("1.0000001^10000000", "≈ 2.718281692544966271198550226"),
        ("0.5^10", "0.0009765625"),
        ("2^0.5 * 2^0.5", "≈ 2"),
    ] {
        assert_eq!(check(expression), expected, "{expression}");
    }
}

#[test]
fn what_has_no_result_says_why() {
    for (expression, expected) in [
        ("1/0", "! division by zero"),
        ("1 % 0", "! division by zero"),
        ("0^-1", "! division by zero"),
        ("0^0", "! zero to the power of zero, or of less, is not defined"),
        ("sqrt(-1)", "! a negative number has no real square root"),
        ("(-8)^0.5", "! a negative number has no real root like that"),
        ("ln(0)", "! a logarithm is of numbers above zero only"),
        ("acos(2)", "! the result is no number, or too large a one"),
        ("2.5!", "! a factorial is of whole numbers from zero on"),
        ("(-3)!", "! a factorial is of whole numbers from zero on"),
        ("", "! the expression ends too early"),
        ("1 +", "! the expression ends too early"),
        ("(1", "! the expression ends too early"),
        ("1)", "! \")\" was not expected there (at character 2)"),
        ("1 2", "! \"2\" was not expected there (at character 3)"),
        ("1.2.3", "! \"1.2.3\" was not expected there (at character 1)"),
        (".", "! \".\" was not expected there (at character 1)"),
        ("sqrt 2", "! \"2\" was not expected there (at character 6)"),
        ("sqrt()", "! sqrt takes one number"),
        ("sqrt(1,2)", "! sqrt takes one number"),
        ("min()", "! min takes numbers with commas between them"),
        ("__import__('os')", "! \"_\" was not expected there (at character 1)"),
    ] {
        assert_eq!(check(expression), expected, "{expression}");
    }
    assert!(check("rm(1)").starts_with("! there is nothing named \"rm\"; there are sqrt"));
    assert_eq!(check(&"1".repeat(501)), "! the expression has more than 500 characters");
}

#[test]
fn no_expression_takes_long() {
    let deep = |text: &str, n: usize| text.repeat(n);
    let begun = Instant::now();
    for expression in [
        "9^9^9^9".to_owned(),
        "9^9^9".to_owned(),
        "9^99999999999999999999".to_owned(),
        "2^-999999999".to_owned(),
        "1e999999999".to_owned(),
        "1e-999999999".to_owned(),
        "1e99999999999999999999999".to_owned(),
        "99999!".to_owned(),
        "449!!".to_owned(),
        "exp(1e300)".to_owned(),
        "(1+1e-900)^900".to_owned(),
        "sin(1e999)".to_owned(),
        format!("1{}", deep("^1", 200)),
        format!("{}1", deep("-", 400)),
        format!("{}1{}", deep("(", 200), deep(")", 200)),
        deep("(", 500),
        deep("√", 500),
        format!("1e999{}", deep("*1e999", 80)),
        format!("1/3{}", deep("/7.1", 120)),
        format!("{}1{}", deep("sqrt(", 60), deep(")", 60)),
        format!("9^900{}", deep("+9^900", 80)),
        format!("9^-900{}", deep("*9^-900", 70)),
        format!("sqrt(2{})", deep("*sqrt(2)", 60)),
    ] {
        let each = Instant::now();
        let told = check(&expression);
        assert!(each.elapsed() < Duration::from_secs(1), "{expression} {:?}", each.elapsed());
        assert!(told.chars().count() < 2_100, "{expression} {told}");
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(check("9^9^9^9"), "! a number on the way has more than 1000 digits");
    assert_eq!(check(&"(".repeat(500)), "! parentheses and signs are nested too deep");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn whatever_is_written_has_a_result_or_a_reason_at_once(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "1", "9", "0", "999", ".", "e", "e-9", "1e300", "1e-300", "+", "-", "*", "/", "%", "^", "**", "!", "(", ")", ",", " ",
                "sqrt(", "cbrt(", "ln(", "exp(", "round(", "factorial(", "max(", "pi", "π", "√", "x", "é", "0.1", "2", "1/3",
            ]),
            0..40,
        )
    ) {
        let expression = pieces.concat();
        let begun = Instant::now();
        let told = check(&expression);
        prop_assert!(!told.is_empty());
        prop_assert!(begun.elapsed() < Duration::from_secs(1), "{expression}");
    }
}
