use proptest::prelude::*;

use super::*;

const GOOD: &str = "---\nname: bread\ndescription: Bakes bread.\n---\n# Bread\n\nKnead it.\n";

fn read(text: &str) -> SkillText {
    parse(text.as_bytes(), None).unwrap_or_else(|error| panic!("{error} in {text:?}"))
}

fn described(text: &str) -> String {
    read(text).about.description
}

#[test]
fn a_skill_has_its_front_matter_and_its_body() {
    let text = "---\nname: pdf-forms-2\ndescription: Fills forms.\nlicense: MIT\ncompatibility: Needs a printer\nmetadata:\n  \
                author: ada\n  version: 1.10\nallowed-tools: Read Bash(git add:*), Grep\n---\n\nFirst line.\n\n---\nAfter a rule.\n";
    let expected = SkillText {
        about: SkillAbout {
            name: "pdf-forms-2".into(),
            description: "Fills forms.".into(),
            license: Some("MIT".into()),
            compatibility: Some("Needs a printer".into()),
            metadata: BTreeMap::from([("author".into(), "ada".into()), ("version".into(), "1.10".into())]),
            allowed_tools: ["Read", "Bash(git add:*)", "Grep"].map(str::to_owned).to_vec(),
        },
        instructions: "First line.\n\n---\nAfter a rule.".into(),
    };
    assert_eq!(parse(text.as_bytes(), Some("pdf-forms-2")), Ok(expected));
}

#[test]
fn files_of_the_world_are_read_as_they_were_meant() {
    let same = read(GOOD);
    let table = [
        GOOD.replace('\n', "\r\n"),
        GOOD.replace('\n', "\r"),
        format!("\u{feff}{GOOD}"),
        format!("\n  \n{GOOD}"),
        GOOD.trim_end().to_owned(),
        GOOD.replace("---", "---  "),
        GOOD.replace("Bakes bread.", "\"Bakes bread.\""),
        GOOD.replace("Bakes bread.", "'Bakes bread.'   # said so"),
        GOOD.replace("Bakes bread.", ">-\n  Bakes\n  bread."),
        GOOD.replace("Bakes bread.", "|\n  Bakes bread.\n"),
        GOOD.replace(
            "name: bread",
            "version: 2\nname: \"bread\"\ntags: [a, b]\nuser-invocable: true\nhooks:\n  a:\n    - b: c",
        ),
        GOOD.replace("name: bread", "name: bread\nlicense:\nmetadata: {}\nallowed-tools: []"),
        GOOD.replace("name: bread", "# a comment\nname:    bread"),
    ];
    for text in table {
        assert_eq!(read(&text), same, "{text:?}");
    }
}

#[test]
fn a_description_that_is_no_yaml_because_of_a_colon_is_taken_as_it_stands() {
    let table = [
        "Use when: it's late, e.g.: at night",
        "Works on C# files: all of them",
        "Ends with a colon:",
        "@mentions: who is meant",
    ];
    for description in table {
        let text = format!("---\nname: bread\ndescription: {description}\nlicense: 'MIT'\n---\nx");
        assert_eq!(described(&text), description);
    }
}

#[test]
fn metadata_is_text_and_what_is_no_text_is_kept_as_json() {
    let text = "---\nname: a\ndescription: b\nmetadata:\n  version: 1.10\n  on: yes\n---\nx";
    let metadata = read(text).about.metadata;
    assert_eq!((metadata["version"].as_str(), metadata["on"].as_str()), ("1.10", "yes"));
    let text = "---\nname: a\ndescription: b\nmetadata:\n  tags: [x, y]\n  n: 1\n---\nx";
    let metadata = read(text).about.metadata;
    assert_eq!((metadata["tags"].as_str(), metadata["n"].as_str()), (r#"["x","y"]"#, "1"));
}

#[test]
fn allowed_tools_are_a_list_or_a_text() {
    let tools = |value: &str| {
        read(&format!("---\nname: a\ndescription: b\nallowed-tools: {value}\n---\nx")).about.allowed_tools
    };
    assert_eq!(tools("Read Grep"), ["Read", "Grep"]);
    assert_eq!(tools("Read, Grep,Glob"), ["Read", "Grep", "Glob"]);
    assert_eq!(tools("[Read, 'Bash(a b)']"), ["Read", "Bash(a b)"]);
    assert_eq!(tools("\n  - Read\n  - Grep"), ["Read", "Grep"]);
    assert_eq!(tools("Bash(git add:*) Bash(x"), ["Bash(git add:*)", "Bash(x"]);
}

#[test]
fn what_is_no_skill_is_refused_with_what_is_wrong() {
    let with = |from: &str, to: &str| GOOD.replace(from, to);
    let table = [
        (String::new(), "does not begin with"),
        ("# Bread\n".into(), "does not begin with"),
        ("---".into(), "not closed"),
        ("---\nname: bread\n".into(), "not closed"),
        ("---\n---\nx".into(), "can't be read"),
        ("---\n- a\n---\nx".into(), "can't be read"),
        ("---\nname: [\n---\nx".into(), "can't be read"),
        (with("name: bread\n", ""), "name is missing"),
        (with("description: Bakes bread.\n", ""), "description is missing"),
        (with("Bakes bread.", "\"\""), "description is empty"),
        (with("Bakes bread.", "\" \""), "description is empty"),
        (with("Bakes bread.", &"x".repeat(1_025)), "description has more than 1024"),
        (with("name: bread", "name: bread\nname: other"), "can't be read"),
        (with("name: bread", "name: Bread"), "name is not"),
        (with("name: bread", "name: my bread"), "name is not"),
        (with("name: bread", "name: -bread"), "name is not"),
        (with("name: bread", "name: bread-"), "name is not"),
        (with("name: bread", "name: b--d"), "name is not"),
        (with("name: bread", "name: brød"), "name is not"),
        (with("name: bread", "name: ../bread"), "name is not"),
        (with("name: bread", &format!("name: {}", "a".repeat(65))), "name is not"),
        (with("name: bread", &format!("name: bread\ncompatibility: {}", "x".repeat(501))), "compatibility has more"),
        (with("# Bread\n\nKnead it.\n", " \n"), "instructions is empty"),
        (with("Knead it.", "Knead \u{1b}[2J it."), "instructions holds control"),
        (with("Knead it.", &"x".repeat(100_001)), "instructions has more"),
        (with("Bakes bread.", "\"a\\0b\""), "description holds control"),
        (
            with("name: bread", &format!("name: bread\nnote: {}", "x".repeat(70_000))),
            "front matter of SKILL.md has more",
        ),
        ("x".repeat(FORM_MAX + 1), "SKILL.md has more"),
    ];
    for (text, expected) in table {
        let refused = parse(text.as_bytes(), None).map_err(|error| error.to_string());
        let short: String = text.chars().take(120).collect();
        assert!(refused.as_ref().is_err_and(|error| error.contains(expected)), "{short:?}: {refused:?}");
        assert!(refused.is_err_and(|error| error.len() < 400 && !error.contains('\n')), "{short:?}");
    }
    assert_eq!(parse(b"---\nname: \xff\n---\n", None), Err(FormError::NotText));
}

#[test]
fn a_skill_is_called_as_its_folder_is() {
    assert!(parse(GOOD.as_bytes(), Some("bread")).is_ok());
    let refused = parse(GOOD.as_bytes(), Some("cake")).unwrap_err().to_string();
    assert_eq!(refused, "SKILL.md names the skill bread, and its folder is called cake");
}

#[test]
fn an_alias_bomb_and_deep_nesting_are_refused_at_once() {
    let mut bomb = "---\nname: bread\ndescription: x\na: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (n, (to, from)) in ("bcdefghij".chars().zip("abcdefghi".chars())).enumerate() {
        let many = vec![format!("*{from}"); 9].join(",");
        bomb.push_str(&format!("{to}: &{to} [{many}] # {n}\n"));
    }
    bomb.push_str("---\nx");
    let deep = format!("---\nname: bread\ndescription: x\nmetadata: {}\n---\nx", "[".repeat(10_000));
    let begun = std::time::Instant::now();
    assert!(parse(bomb.as_bytes(), None).is_err());
    assert!(parse(deep.as_bytes(), None).is_err());
    assert!(begun.elapsed() < std::time::Duration::from_secs(2));
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        drop(parse(&bytes, None));
        let framed = [b"---\n".as_slice(), &bytes, b"\n---\nbody"].concat();
        drop(parse(&framed, Some("bread")));
    }

    #[test]
    fn no_text_of_yamls_signs_makes_the_reader_panic(matter in "[a-c :\\-\\[\\]{}&*!|>'\"%@`#,?\n\t~<=]{0,120}") {
        drop(parse(format!("---\nname: bread\ndescription: {matter}\n---\nbody").as_bytes(), None));
    }

    #[test]
    fn what_is_read_is_within_its_bounds(name in "[a-z0-9-]{0,70}", description in "\\PC{0,60}") {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nbody");
        if let Ok(text) = parse(text.as_bytes(), None) {
            prop_assert!((1..=64).contains(&text.about.name.len()));
            prop_assert!(!text.about.description.trim().is_empty());
        }
    }
}
