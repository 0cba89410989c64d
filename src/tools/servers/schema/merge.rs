//! Two cleaned schemas as one: for a value that fits both, and for one that fits either.

use serde_json::{Map, Value, json};

/// Keywords that say something of values of this type only.
pub fn of_type(name: &str) -> &'static [&'static str] {
    match name {
        "object" => &["properties", "required", "additionalProperties"],
        "array" => &["items", "minItems", "maxItems", "uniqueItems"],
        "string" => &["minLength", "maxLength", "pattern", "format"],
        "integer" | "number" => &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
        _ => &[],
    }
}

/// Takes over what is not said yet; properties and what is required come together.
pub fn intersection(out: &mut Map<String, Value>, other: Map<String, Value>) {
    // An object that allows nothing else would refuse what the other one brings.
    let closed = [&*out, &other].iter().any(|schema| schema.get("additionalProperties") == Some(&json!(false)));
    for (keyword, value) in other {
        match (out.get_mut(&keyword), value) {
            (Some(Value::Object(had)), Value::Object(more)) if keyword == "properties" => {
                for (name, property) in more {
                    had.entry(name).or_insert(property);
                }
            }
            (Some(Value::Array(had)), Value::Array(more)) if keyword == "required" => had.extend(more),
            (Some(_), _) => {}
            (None, value) => {
                out.insert(keyword, value);
            }
        }
    }
    if closed {
        out.remove("additionalProperties");
    }
}

/// For a value that fits one of these: every property of any of them, and required only what all of them require.
pub fn union(out: &mut Map<String, Value>, variants: Vec<Value>) {
    let objects: Vec<Map<String, Value>> = variants
        .into_iter()
        .filter_map(|variant| match variant {
            Value::Object(variant) if variant.get("type").is_none_or(|name| name == "object") => Some(variant),
            _ => None,
        })
        .collect();
    let required_in = |variant: &Map<String, Value>, name: &Value| {
        variant.get("required").and_then(Value::as_array).is_some_and(|all| all.contains(name))
    };
    let mut required = out.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(Value::Array(first)) = objects.first().and_then(|variant| variant.get("required")) {
        required.extend(first.iter().filter(|name| objects.iter().all(|variant| required_in(variant, name))).cloned());
    }
    for mut variant in objects {
        variant.remove("required");
        variant.remove("description");
        variant.remove("additionalProperties");
        intersection(out, variant);
    }
    out.remove("additionalProperties");
    required.dedup();
    if !required.is_empty() {
        out.insert("required".to_owned(), Value::Array(required));
    }
}
