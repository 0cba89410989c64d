use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(schema: Value, cleaned: Value) {
    assert_eq!(clean(&schema), Ok(cleaned), "{schema}");
}

/// As [`check`], for the only property.
#[track_caller]
fn check_property(schema: Value, cleaned: Value) {
    let of = |property: Value| json!({"type": "object", "properties": {"a": property}});
    check(of(schema), of(cleaned));
}

#[test]
fn a_plain_schema_stays_as_it_is() {
    let schema = json!({
        "type": "object", "description": "d",
        "properties": {
            "path": {"type": "string", "description": "A path.", "minLength": 1, "pattern": "^/"},
            "n": {"type": "integer", "minimum": 0, "maximum": 9, "default": 1},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
            "kind": {"type": "string", "enum": ["a", "b"]},
        },
        "required": ["path"], "additionalProperties": false,
    });
    check(schema.clone(), schema);
}

#[test]
fn what_providers_refuse_at_the_top_is_gone() {
    let empty = json!({"type": "object", "properties": {}});
    check(json!({}), empty.clone());
    check(
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "x", "title": "T", "type": "object"}),
        empty.clone(),
    );
    check(json!({"type": "object", "additionalProperties": {"type": "string"}}), empty.clone());
    check(
        json!({"type": "object", "$comment": "c", "if": {}, "then": {}, "not": {}, "x-odd": 1, "patternProperties": {}}),
        empty.clone(),
    );
    check(json!({"type": ["object", "null"]}), empty.clone());
    check(json!({"type": "OBJECT", "properties": null, "required": "a"}), empty);
}

#[test]
fn a_type_beside_null_is_that_type() {
    check_property(json!({"type": ["string", "null"], "default": null}), json!({"type": "string"}));
    check_property(
        json!({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "d"}),
        json!({"description": "d", "type": "string"}),
    );
    check_property(json!({"type": "null"}), json!({}));
    check_property(json!({"enum": ["a", null]}), json!({"enum": ["a"], "type": "string"}));
}

#[test]
fn several_types_become_alternatives() {
    check_property(
        json!({"type": ["string", "array", "null"], "minLength": 1, "description": "d"}),
        json!({"description": "d", "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {}}]}),
    );
    check_property(
        json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    );
}

#[test]
fn every_list_has_items() {
    check_property(json!({"type": "array"}), json!({"type": "array", "items": {}}));
    check_property(json!({"type": "array", "items": [{"type": "string"}]}), json!({"items": {}, "type": "array"}));
    check_property(json!({"type": "array", "items": true}), json!({"items": {}, "type": "array"}));
    check_property(json!({"items": {"type": "string"}}), json!({"items": {"type": "string"}, "type": "array"}));
}

#[test]
fn keywords_of_a_wrong_kind_are_dropped() {
    check_property(
        json!({"type": "string", "minLength": -1, "maxLength": "9", "pattern": "(", "format": "odd", "description": 1, "multipleOf": 0}),
        json!({"type": "string"}),
    );
    check_property(json!({"type": "str"}), json!({}));
    check_property(json!(true), json!({}));
    check_property(json!("odd"), json!({}));
    check_property(json!({"const": "a"}), json!({"enum": ["a"], "type": "string"}));
    check_property(json!({"enum": []}), json!({}));
}

#[test]
fn references_are_written_out() {
    check(
        json!({
            "type": "object", "properties": {"a": {"$ref": "#/$defs/Name", "description": "mine"}, "b": {"$ref": "#/definitions/N"}},
            "$defs": {"Name": {"type": "string", "description": "a name"}}, "definitions": {"N": {"type": "integer"}},
        }),
        json!({"type": "object", "properties": {"a": {"type": "string", "description": "mine"}, "b": {"type": "integer"}}}),
    );
    check_property(json!({"$ref": "https://elsewhere.example/schema"}), json!({}));
    check_property(json!({"$ref": "#/$defs/absent"}), json!({}));
}

#[test]
fn a_reference_into_itself_ends() {
    check(
        json!({
            "properties": {"node": {"$ref": "#/$defs/Node"}, "all": {"$ref": "#"}},
            "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
        }),
        json!({"type": "object", "properties": {
            "node": {"type": "object", "properties": {"next": {"type": "object"}}}, "all": {"type": "object"},
        }}),
    );
}

#[test]
fn references_that_double_at_each_step_are_refused_and_not_written_out() {
    let mut defs = Map::new();
    for n in 0..30 {
        let next = format!("#/$defs/d{}", n + 1);
        defs.insert(format!("d{n}"), json!({"properties": {"a": {"$ref": next}, "b": {"$ref": next}}}));
    }
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    assert_eq!(clean(&schema), Err(Unusable::TooLarge));
}

#[test]
fn a_schema_that_is_deep_is_cut_and_one_that_is_large_refused() {
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "array", "items": deep});
    }
    let cleaned = clean(&json!({"properties": {"a": deep}})).unwrap().to_string();
    assert!(cleaned.len() < 2_000, "{}", cleaned.len());
    let wide: Map<String, Value> = (0..3_000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
    assert_eq!(clean(&json!({"properties": wide})), Err(Unusable::TooLarge));
    let long: Map<String, Value> =
        (0..100).map(|n| (format!("p{n}"), json!({"description": "x".repeat(2_000)}))).collect();
    assert_eq!(clean(&json!({"properties": long})), Err(Unusable::TooLarge));
}

#[test]
fn alternatives_at_the_top_become_one_object() {
    check(
        json!({"type": "object", "anyOf": [
            {"properties": {"id": {"type": "string"}, "x": {"type": "integer"}}, "required": ["id", "x"]},
            {"properties": {"id": {"type": "string"}}, "required": ["id"], "additionalProperties": false},
        ]}),
        json!({"type": "object", "properties": {"id": {"type": "string"}, "x": {"type": "integer"}}, "required": ["id"]}),
    );
    check(
        json!({"allOf": [
            {"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false},
            {"properties": {"b": {"type": "string"}}, "required": ["b"]},
        ]}),
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a", "b"]}),
    );
}

#[test]
fn only_what_is_there_is_required() {
    check(
        json!({"properties": {"a": {}}, "required": ["a", "a", "b", 1]}),
        json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
    );
}

#[test]
fn an_argument_with_an_odd_name_goes_and_takes_its_tool_along_when_it_is_needed() {
    check(json!({"properties": {"a b": {}, "c": {}}}), json!({"type": "object", "properties": {"c": {}}}));
    let needed = json!({"properties": {"a b": {}}, "required": ["a b"]});
    assert_eq!(clean(&needed), Err(Unusable::BadName("a b".to_owned())));
}

#[test]
fn what_describes_no_object_is_refused() {
    for schema in [json!(null), json!("x"), json!([]), json!(true)] {
        assert_eq!(clean(&schema), Err(Unusable::NoObject), "{schema}");
    }
    for schema in [json!({"type": "array"}), json!({"type": "string"}), json!({"items": {}})] {
        assert_eq!(clean(&schema), Err(Unusable::NoArguments), "{schema}");
    }
}

fn anything() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "type",
        "properties",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "required",
        "enum",
        "const",
        "object",
        "array",
        "string",
        "null",
        "#/$defs/a",
        "#",
        "#/properties/a",
        "a",
        "pattern",
        "minLength",
        "additionalProperties",
    ]);
    let leaf = prop_oneof![
        words.clone().prop_map(|word| json!(word)),
        prop::sample::select(vec![
            json!({"type": "array"}),
            json!({"type": ["array", "null"]}),
            json!({"type": ["string", "array"], "minLength": 1}),
            json!({"$ref": "#/$defs/a"}),
            json!({"properties": {"b": {"$ref": "#"}}, "required": ["b", "c"]}),
            json!({"enum": [null]}),
        ]),
        any::<bool>().prop_map(|bool| json!(bool)),
        any::<i8>().prop_map(|number| json!(number)),
        Just(Value::Null),
    ];
    leaf.prop_recursive(5, 60, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((words.clone(), inner), 0..5)
                .prop_map(|all| Value::Object(all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())),
        ]
    })
}

/// Every schema within this one has what Providers ask for.
fn is_taken(schema: &Value) -> bool {
    let Some(schema) = schema.as_object() else { return false };
    let names = |keyword: &str| schema.get(keyword).and_then(Value::as_object);
    let has_items = schema.get("type") != Some(&json!("array")) || schema.contains_key("items");
    let one_type = schema.get("type").is_none_or(Value::is_string);
    let needed = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    has_items
        && one_type
        && !schema.contains_key("$ref")
        && needed
            .into_iter()
            .all(|name| names("properties").is_some_and(|all| all.contains_key(name.as_str().unwrap_or(""))))
        && names("properties").into_iter().flat_map(Map::values).all(is_taken)
        && schema.get("items").is_none_or(is_taken)
        && schema.get("anyOf").and_then(Value::as_array).into_iter().flatten().all(is_taken)
}

proptest! {
    #[test]
    fn whatever_comes_is_cleaned_or_refused(inner in prop::collection::vec(anything(), 1..3), named in any::<bool>()) {
        let schema = if named { json!({"properties": {"a": inner[0]}, "$defs": {"a": inner.last()}}) } else { inner[0].clone() };
        if let Ok(cleaned) = clean(&schema) {
            prop_assert!(is_taken(&cleaned), "{schema}\n{cleaned}");
            let again = clean(&cleaned);
            prop_assert_eq!(again, Ok(cleaned), "cleaning twice");
        }
    }
}
