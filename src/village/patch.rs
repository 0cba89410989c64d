//! Bodies of changes: a field that is absent stays as it is, one that is null is cleared where it can be. Plain
//! `Option` can't tell the two apart, and would take a null for "unchanged" where nothing can be cleared.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

/// For `#[serde(default, deserialize_with = "present")]`: an absent field is None, a present one is Some, and whether null
/// fits is up to `T` (an `Option` takes it, a text does not).
pub fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// A `T` that is written as an object and as nothing else. A derived struct also reads a list, field by field in the order
/// of its declaration, which nobody means.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OnlyMap(PhantomData)).map(Self)
    }
}

struct OnlyMap<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyMap<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Change {
        #[serde(deserialize_with = "present")]
        name: Option<String>,
        #[serde(deserialize_with = "present")]
        model: Option<Option<String>>,
    }

    #[test]
    fn absent_null_and_a_value_are_three_things() {
        let read = |text: &str| serde_json::from_str::<Change>(text).ok();
        assert_eq!(read("{}"), Some(Change { name: None, model: None }));
        assert_eq!(read(r#"{"model":null}"#), Some(Change { name: None, model: Some(None) }));
        let both = Change { name: Some("a".into()), model: Some(Some("b".into())) };
        assert_eq!(read(r#"{"name":"a","model":"b"}"#), Some(both));
        assert_eq!(read(r#"{"name":null}"#), None);
        assert_eq!(read(r#"{"nmae":"a"}"#), None);
    }

    #[test]
    fn an_object_is_not_read_from_a_list() {
        assert!(serde_json::from_str::<Change>(r#"["a"]"#).is_ok(), "what the wrapper is there for");
        assert!(serde_json::from_str::<Object<Change>>(r#"["a"]"#).is_err());
        assert!(serde_json::from_str::<Object<Change>>(r#"{"nmae":"a"}"#).is_err());
        let read = serde_json::from_str::<Object<Change>>(r#"{"name":"a"}"#).unwrap();
        assert_eq!(read.0.name.as_deref(), Some("a"));
    }
}
