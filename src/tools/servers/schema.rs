//! Makes the schema of a foreign tool's arguments one that strict Providers take. Where a schema says what some Provider
//! would refuse, the result says less: the server checks its arguments itself. A pure function that never panics; what
//! can't be saved is told, so that its tool alone is left out.

mod merge;

use serde_json::{Map, Value, json};

/// Schemas within schemas; what lies deeper may be anything.
const DEPTH_MAX: usize = 24;
/// Schemas that one schema may become, its references written out.
const NODES_MAX: usize = 2_000;
/// Bytes of the result.
const BYTES_MAX: usize = 48 * 1024;
/// Characters of a description within a schema.
const DESCRIPTION_MAX: usize = 2_000;
const TYPES: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];
/// Formats that mean the same everywhere.
const FORMATS: [&str; 9] = ["date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Why a schema can't be saved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    #[error("its schema is no object")]
    NoObject,
    #[error("its arguments are no object")]
    NoArguments,
    #[error("it needs the argument {0:?}, whose name Providers refuse")]
    BadName(String),
    #[error("its schema is too large")]
    TooLarge,
    #[error("its schema is none: {0}")]
    NoSchema(String),
}

/// The schema as Providers take it: `type` is "object", and `properties` is there.
///
/// # Errors
/// When it describes no object, needs an argument that can't be named, or is too large with its references written out.
pub fn clean(schema: &Value) -> Result<Value, Unusable> {
    let Value::Object(_) = schema else { return Err(Unusable::NoObject) };
    let mut cleaner = Cleaner { root: schema, nodes: 0, names: Vec::new() };
    let mut cleaned = cleaner.schema(schema, 0)?;
    // Providers refuse alternatives at the top.
    if let Some(Value::Array(variants)) = cleaned.remove("anyOf") {
        merge::union(&mut cleaned, variants);
    }
    match cleaned.get("type").and_then(Value::as_str) {
        None | Some("object") => {}
        Some(_) => return Err(Unusable::NoArguments),
    }
    let mut result = Map::new();
    result.insert("type".to_owned(), json!("object"));
    for (keyword, value) in cleaned {
        if matches!(keyword.as_str(), "description" | "properties" | "required" | "additionalProperties") {
            result.insert(keyword, value);
        }
    }
    result.entry("properties").or_insert_with(|| json!({}));
    let result = Value::Object(result);
    if result.to_string().len() > BYTES_MAX {
        return Err(Unusable::TooLarge);
    }
    jsonschema::validator_for(&result).map_err(|error| Unusable::NoSchema(cut(&error.to_string()).to_owned()))?;
    Ok(result)
}

struct Cleaner<'a> {
    root: &'a Value,
    nodes: usize,
    /// The references that are being written out.
    names: Vec<&'a str>,
}

impl<'a> Cleaner<'a> {
    fn schema(&mut self, schema: &'a Value, depth: usize) -> Result<Map<String, Value>, Unusable> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(Unusable::TooLarge);
        }
        // A schema that is true allows everything; one that is false is taken for it, and the server will say no.
        let Value::Object(given) = schema else { return Ok(Map::new()) };
        if depth > DEPTH_MAX {
            return Ok(Map::new());
        }
        let mut out = match given.get("$ref").and_then(Value::as_str) {
            Some(name) => self.referenced(name, depth)?,
            None => Map::new(),
        };
        for (keyword, value) in given {
            self.keyword(&mut out, keyword, value, depth)?;
        }
        types(&mut out, given.get("type"));
        shape(&mut out)?;
        Ok(out)
    }

    /// What a reference within the schema names; anything, where it leads out of it or back into itself.
    fn referenced(&mut self, name: &'a str, depth: usize) -> Result<Map<String, Value>, Unusable> {
        let Some(pointer) = name.strip_prefix('#') else { return Ok(Map::new()) };
        let Some(target) = self.root.pointer(pointer) else { return Ok(Map::new()) };
        if self.names.contains(&name) || pointer.is_empty() {
            let object = target.get("type") == Some(&json!("object")) || target.get("properties").is_some();
            return Ok(if object { Map::from_iter([("type".to_owned(), json!("object"))]) } else { Map::new() });
        }
        self.names.push(name);
        let found = self.schema(target, depth + 1);
        self.names.pop();
        found
    }

    fn keyword(
        &mut self,
        out: &mut Map<String, Value>,
        keyword: &str,
        value: &'a Value,
        depth: usize,
    ) -> Result<(), Unusable> {
        let kept = match (keyword, value) {
            ("description", Value::String(text)) => json!(cut(text)),
            ("properties", Value::Object(given)) => {
                let mut properties = Map::new();
                for (name, property) in given {
                    properties.insert(name.clone(), Value::Object(self.schema(property, depth + 1)?));
                }
                Value::Object(properties)
            }
            ("items", Value::Object(_)) => Value::Object(self.schema(value, depth + 1)?),
            ("items" | "prefixItems", Value::Array(_) | Value::Bool(_)) => {
                out.entry("items").or_insert_with(|| json!({}));
                return Ok(());
            }
            ("anyOf" | "oneOf", Value::Array(variants)) => return self.variants(out, variants, depth),
            ("allOf", Value::Array(parts)) => {
                for part in parts {
                    let part = self.schema(part, depth + 1)?;
                    merge::intersection(out, part);
                }
                return Ok(());
            }
            ("const", value) if !value.is_null() => {
                out.insert("enum".to_owned(), json!([value]));
                return Ok(());
            }
            ("enum", Value::Array(values)) => {
                let values: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
                if values.is_empty() {
                    return Ok(());
                }
                json!(values)
            }
            ("required", Value::Array(_))
            | ("additionalProperties" | "uniqueItems", Value::Bool(_))
            | ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum", Value::Number(_)) => value.clone(),
            ("multipleOf", Value::Number(number)) if number.as_f64().is_some_and(|number| number > 0.0) => {
                value.clone()
            }
            ("minLength" | "maxLength" | "minItems" | "maxItems", Value::Number(number)) if number.is_u64() => {
                value.clone()
            }
            ("format", Value::String(format)) if FORMATS.contains(&format.as_str()) => value.clone(),
            ("pattern", Value::String(_)) if jsonschema::validator_for(&json!({"pattern": value})).is_ok() => {
                value.clone()
            }
            ("default", value) if !value.is_null() => value.clone(),
            _ => return Ok(()),
        };
        out.insert(keyword.to_owned(), kept);
        Ok(())
    }

    /// Alternatives without null, which stands for a value that may be left out; a single one is taken as it is.
    fn variants(&mut self, out: &mut Map<String, Value>, given: &'a [Value], depth: usize) -> Result<(), Unusable> {
        let mut variants = Vec::new();
        for variant in given.iter().filter(|variant| variant.get("type") != Some(&json!("null"))) {
            variants.push(self.schema(variant, depth + 1)?);
        }
        match variants.len() {
            0 => {}
            1 => variants.into_iter().for_each(|only| merge::intersection(out, only)),
            _ => {
                let variants = variants.into_iter().map(Value::Object).collect();
                out.insert("anyOf".to_owned(), Value::Array(variants));
            }
        }
        Ok(())
    }
}

/// One type, or alternatives of one each.
fn types(out: &mut Map<String, Value>, given: Option<&Value>) {
    let known = |name: &Value| {
        let name = name.as_str()?.to_ascii_lowercase();
        TYPES.contains(&name.as_str()).then_some(name)
    };
    let mut types: Vec<String> = match given {
        Some(Value::Array(types)) => types.iter().filter_map(known).collect(),
        Some(one) => known(one).into_iter().collect(),
        None => Vec::new(),
    };
    types.dedup();
    match types.as_slice() {
        [] => {}
        [one] => {
            out.insert("type".to_owned(), json!(one));
        }
        several if !out.contains_key("anyOf") => {
            let mut variants = Vec::new();
            for name in several {
                let mut variant = Map::from_iter([("type".to_owned(), json!(name))]);
                for keyword in merge::of_type(name) {
                    if let Some(value) = out.get(*keyword) {
                        variant.insert((*keyword).to_owned(), value.clone());
                    }
                }
                if name == "array" {
                    variant.entry("items").or_insert_with(|| json!({}));
                }
                variants.push(Value::Object(variant));
            }
            out.retain(|keyword, _| matches!(keyword.as_str(), "description" | "default" | "enum"));
            out.insert("anyOf".to_owned(), Value::Array(variants));
        }
        _ => {}
    }
}

/// What Providers ask of each kind of schema: a type where there are properties or items, items in every list, and nothing
/// required that is not there.
fn shape(out: &mut Map<String, Value>) -> Result<(), Unusable> {
    if !out.contains_key("type") && !out.contains_key("anyOf") {
        let all_text = out.get("enum").and_then(Value::as_array).is_some_and(|all| all.iter().all(Value::is_string));
        let implied =
            [("properties", "object"), ("items", "array")].iter().find(|(keyword, _)| out.contains_key(*keyword));
        match implied {
            Some((_, name)) => out.insert("type".to_owned(), json!(name)),
            None if all_text => out.insert("type".to_owned(), json!("string")),
            None => None,
        };
    }
    if out.get("type") == Some(&json!("array")) {
        out.entry("items").or_insert_with(|| json!({}));
    }
    let required: Vec<String> = match out.remove("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let Some(Value::Object(properties)) = out.get_mut("properties") else { return Ok(()) };
    if let Some(name) = required.iter().find(|name| properties.contains_key(*name) && !is_name(name)) {
        return Err(Unusable::BadName(name.chars().take(64).collect()));
    }
    properties.retain(|name, _| is_name(name));
    let mut kept: Vec<String> = Vec::new();
    for name in required {
        if properties.contains_key(&name) && !kept.contains(&name) {
            kept.push(name);
        }
    }
    if !kept.is_empty() {
        out.insert("required".to_owned(), json!(kept));
    }
    Ok(())
}

/// What every Provider takes as the name of an argument.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(DESCRIPTION_MAX).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests;
