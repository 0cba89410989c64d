//! The shapes of a chat completion chunk, lent from the event's text. Every leaf stays raw JSON, so that no value of an
//! unforeseen type fails the chunk around it; what a leaf means is decided by the readers beside this module.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;

/// A value as it stands in the text; `None` for null and for a field that is absent.
pub type Raw<'a> = Option<&'a RawValue>;

/// A chunk of the stream, or the one JSON object that came instead of a stream.
#[derive(Debug, Default, Deserialize)]
pub struct Chunk<'a> {
    #[serde(borrow, default)]
    pub choices: Entries<Choice<'a>>,
    #[serde(borrow)]
    pub usage: Raw<'a>,
    #[serde(borrow, default)]
    pub x_groq: Object<Vendor<'a>>,
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(borrow)]
    pub error_type: Raw<'a>,
    #[serde(borrow)]
    pub error_message: Raw<'a>,
    #[serde(borrow)]
    pub detail: Raw<'a>,
    #[serde(borrow)]
    pub message: Raw<'a>,
    #[serde(borrow)]
    pub msg: Raw<'a>,
}

/// A vendor's own corner of a chunk.
#[derive(Debug, Deserialize)]
pub struct Vendor<'a> {
    #[serde(borrow)]
    pub usage: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
}

#[derive(Debug, Deserialize)]
pub struct Choice<'a> {
    #[serde(borrow)]
    pub index: Raw<'a>,
    #[serde(borrow, default)]
    pub delta: Object<Content<'a>>,
    /// The whole message of a reply that was not streamed.
    #[serde(borrow, default)]
    pub message: Object<Content<'a>>,
    #[serde(borrow)]
    pub finish_reason: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(borrow)]
    pub usage: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
pub struct Content<'a> {
    #[serde(borrow)]
    pub content: Raw<'a>,
    #[serde(borrow)]
    pub refusal: Raw<'a>,
    #[serde(borrow)]
    pub reasoning_content: Raw<'a>,
    #[serde(borrow)]
    pub reasoning: Raw<'a>,
    #[serde(borrow)]
    pub reasoning_text: Raw<'a>,
    #[serde(borrow)]
    pub thinking: Raw<'a>,
    #[serde(borrow)]
    pub reasoning_details: Raw<'a>,
    #[serde(borrow, default)]
    pub tool_calls: Entries<CallPiece<'a>>,
    #[serde(borrow, default)]
    pub function_call: Object<FunctionPiece<'a>>,
}

#[derive(Debug, Deserialize)]
pub struct CallPiece<'a> {
    #[serde(borrow)]
    pub index: Raw<'a>,
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow, rename = "type")]
    pub kind: Raw<'a>,
    #[serde(borrow, default)]
    pub function: Object<FunctionPiece<'a>>,
}

#[derive(Debug, Default, Deserialize)]
pub struct FunctionPiece<'a> {
    #[serde(borrow)]
    pub name: Raw<'a>,
    #[serde(borrow)]
    pub arguments: Raw<'a>,
}

/// One entry of a content list, or of a list of reasoning details.
#[derive(Debug, Deserialize)]
pub struct TypedPart<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Raw<'a>,
    #[serde(borrow)]
    pub text: Raw<'a>,
    #[serde(borrow)]
    pub content: Raw<'a>,
    #[serde(borrow)]
    pub thinking: Raw<'a>,
    #[serde(borrow)]
    pub summary: Raw<'a>,
    #[serde(borrow)]
    pub refusal: Raw<'a>,
    #[serde(borrow)]
    pub signature: Raw<'a>,
    #[serde(borrow)]
    pub data: Raw<'a>,
}

impl<'a> Content<'a> {
    /// A thought that stood as a part of the content.
    pub fn thought(part: &'a RawValue) -> Self {
        Self { thinking: Some(part), ..Self::default() }
    }
}

/// An object, or nothing where something else stood.
#[derive(Debug)]
pub struct Object<T>(pub Option<T>);

/// The objects of a list, or nothing where no list stood.
#[derive(Debug)]
pub struct Entries<T>(pub Vec<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Lenient(PhantomData::<T>)).map(|mut found| Self(found.pop_one()))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Lenient(PhantomData::<T>)).map(|found| match found {
            Found::One(one) => Self(vec![one]),
            Found::List(list) => Self(list),
            Found::Nothing => Self(Vec::new()),
        })
    }
}

enum Found<T> {
    Nothing,
    One(T),
    List(Vec<T>),
}

impl<T> Found<T> {
    fn pop_one(&mut self) -> Option<T> {
        match std::mem::replace(self, Self::Nothing) {
            Self::One(one) => Some(one),
            Self::Nothing | Self::List(_) => None,
        }
    }
}

struct Lenient<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Lenient<T> {
    type Value = Found<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Found<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Found::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Found<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = seq.next_element::<Object<T>>()? {
            list.extend(entry.0);
        }
        Ok(Found::List(list))
    }

    fn visit_unit<E>(self) -> Result<Found<T>, E> {
        Ok(Found::Nothing)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Found<T>, E> {
        Ok(Found::Nothing)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Found<T>, E> {
        Ok(Found::Nothing)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Found<T>, E> {
        Ok(Found::Nothing)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Found<T>, E> {
        Ok(Found::Nothing)
    }

    fn visit_str<E>(self, _: &str) -> Result<Found<T>, E> {
        Ok(Found::Nothing)
    }
}

/// Reads a chunk. `None`: this is no JSON.
pub fn parse(text: &str) -> Option<ParsedChunk<'_>> {
    if let Some(chunk) = chunk(text) {
        return Some(ParsedChunk::Chunk(chunk));
    }
    // A key that stands twice fails the typed reading only: the last one counts, as everywhere in JSON.
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) => Some(ParsedChunk::Rewritten(value.to_string())),
        Err(_) => serde_json::from_str::<IgnoredAny>(text).ok().map(|_| ParsedChunk::Unreadable),
    }
}

/// Reads what [`ParsedChunk::Rewritten`] holds.
pub fn chunk(text: &str) -> Option<Chunk<'_>> {
    serde_json::from_str::<Object<Chunk<'_>>>(text).ok().map(|chunk| chunk.0.unwrap_or_default())
}

pub enum ParsedChunk<'a> {
    Chunk(Chunk<'a>),
    /// The same object with each key once.
    Rewritten(String),
    /// JSON, but none that can be read as a chunk.
    Unreadable,
}
