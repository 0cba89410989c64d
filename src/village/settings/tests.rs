use super::*;

#[test]
fn every_setting_takes_what_is_in_its_range_and_nothing_else() {
    let id = "0198c0de-0000-7000-8000-000000000000";
    let table = [
        (Setting::HopLimit, vec![json!(0), json!(50)], vec![json!(-1), json!(51), json!(1.5), json!("6"), json!(1e99)]),
        (Setting::StepLimit, vec![json!(1), json!(100)], vec![json!(0), json!(101)]),
        (
            Setting::WindowTokens,
            vec![json!(1_000), json!(2_000_000)],
            vec![json!(999), json!(2_000_001), json!(u64::MAX)],
        ),
        (
            Setting::WhenUnwatched,
            vec![json!({"finish": true}), json!({"abortAfterSeconds": 0}), json!({"abortAfterSeconds": 86_400})],
            vec![
                json!({"finish": false}),
                json!({"abortAfterSeconds": 86_401}),
                json!({"abortAfterSeconds": -1}),
                json!({"finish": true, "abortAfterSeconds": 1}),
                json!({}),
                json!("finish"),
                json!([true]),
            ],
        ),
        (Setting::SignUp, vec![json!("closed"), json!("invite"), json!("open")], vec![json!("Open"), json!(true)]),
        (Setting::DefaultProviderId, vec![json!(id)], vec![json!(""), json!(1), json!("a\nb")]),
        (Setting::Titles, vec![json!(true), json!(false)], vec![json!("true"), json!(1), json!({})]),
        (Setting::FetchPrivateAddresses, vec![json!(true), json!(false)], vec![json!("true"), json!(1), json!([])]),
        (
            Setting::ModelRoles,
            vec![
                json!({"main": null, "subagent": null, "utility": null}),
                json!({"main": {"providerId": id, "model": "m"}, "subagent": null, "utility": {"providerId": null, "model": "u"}}),
            ],
            vec![
                json!([]),
                json!(true),
                json!({"maim": null}),
                json!({"main": "m"}),
                json!({"main": {}}),
                json!({"main": {"model": null}}),
                json!({"main": {"model": " "}}),
                json!({"main": {"model": "a\nb"}}),
                json!({"main": {"model": "x".repeat(201)}}),
                json!({"main": {"model": "m", "provider": id}}),
                json!({"main": {"model": "m", "providerId": "OpenAI"}}),
                json!({"main": [null, "m"]}),
            ],
        ),
        (Setting::DefaultModel, vec![json!("a/b:c")], vec![json!(""), json!("x".repeat(201))]),
    ];
    assert_eq!(table.len(), Setting::ALL.len());
    for (setting, good, bad) in table {
        for value in good {
            let mut settings = Settings::default();
            assert_eq!(settings.set(setting, &value), Ok(()), "{setting:?} {value}");
            assert_eq!(settings.value(setting), value);
        }
        for value in bad {
            let refused = Settings::default().set(setting, &value).map_err(|invalid| invalid.field);
            assert_eq!(refused, Err(setting.name()), "{setting:?} {value}");
        }
    }
}

#[test]
fn a_role_that_is_left_out_is_null() {
    let mut settings = Settings::default();
    settings.set(Setting::ModelRoles, &json!({"utility": {"model": " u "}})).unwrap();
    let expected = json!({"main": null, "subagent": null, "utility": {"providerId": null, "model": "u"}});
    assert_eq!(settings.value(Setting::ModelRoles), expected);
}

#[test]
fn names_are_read_as_they_are_written() {
    for setting in Setting::ALL {
        assert_eq!(Setting::named(setting.name()), Some(setting));
    }
    assert_eq!(Setting::named("hoplimit"), None);
}

#[test]
fn a_pin_that_does_not_fit_is_refused_at_once() {
    let mut pins = Pins::default();
    assert!(pins.pin(Setting::HopLimit, json!(51), "HAMLET_HOP_LIMIT").is_err());
    assert_eq!(pins.source(Setting::HopLimit), None);
    pins.pin(Setting::HopLimit, json!(2), "HAMLET_HOP_LIMIT").unwrap();
    assert_eq!(pins.source(Setting::HopLimit), Some("HAMLET_HOP_LIMIT"));
}

#[test]
fn a_pin_comes_before_what_is_stored_and_that_before_the_default() {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch("CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT").unwrap();
    settings::set(&conn, "hopLimit", &json!(3)).unwrap();
    settings::set(&conn, "stepLimit", &json!(4)).unwrap();
    settings::set(&conn, "_mark", &json!("ours")).unwrap();
    let mut pins = Pins::default();
    pins.pin(Setting::HopLimit, json!(2), "a flag").unwrap();
    let expected = Settings { hop_limit: 2, step_limit: 4, ..Settings::default() };
    assert_eq!(effective(&conn, &pins).unwrap(), expected);
    settings::clear(&conn, "stepLimit").unwrap();
    assert_eq!(effective(&conn, &pins).unwrap(), Settings { hop_limit: 2, ..Settings::default() });
    settings::set(&conn, "signUp", &json!("nobody")).unwrap();
    let error = effective(&conn, &pins).unwrap_err().to_string();
    assert!(error.contains("signUp"), "{error}");
}
