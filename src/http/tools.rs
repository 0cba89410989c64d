//! `/api/tools`: what could be granted to an NPC, as far as it is known now.

use std::collections::HashSet;

use axum::{
    Router,
    extract::{FromRef, FromRequestParts, State},
    routing::get,
};
use serde::Serialize;
use serde_json::Value;

use super::page::Page;
use crate::{auth::Who, plugins::Capabilities};

pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Capabilities: FromRef<S>,
    Who: FromRequestParts<S>,
{
    Router::new().route("/api/tools", get(list))
}

/// One tool on the wire.
#[derive(Debug, Serialize)]
struct Offered {
    /// What a grant names it by.
    key: String,
    name: String,
    description: String,
    /// JSON Schema of its arguments.
    parameters: Value,
    /// The capability that brings it.
    source: &'static str,
}

/// In the order of the capabilities. A key that two offer is the first one's: that is the one that a call reaches.
async fn list(_who: Who, State(Capabilities(capabilities)): State<Capabilities>) -> axum::Json<Page<Offered>> {
    let mut seen = HashSet::new();
    let offered = capabilities
        .iter()
        .flat_map(|capability| capability.catalog().into_iter().map(|offer| (capability.name(), offer)))
        .filter(|(_, offer)| seen.insert(offer.key.clone()))
        .map(|(source, offer)| Offered {
            key: offer.key,
            name: offer.spec.name,
            description: offer.spec.description,
            parameters: offer.spec.parameters,
            source,
        });
    axum::Json(Page::whole(offered.collect()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use http::Method;
    use serde_json::Value;

    use crate::{
        http::village::testing::{ADA, TestVillage},
        store::grants::DEFAULT,
    };

    #[tokio::test]
    async fn whoever_is_signed_in_sees_every_tool_with_its_schema_and_its_source() {
        let village = TestVillage::new().await;
        let page = village.done(ADA, Method::GET, "/api/tools", Value::Null).await;
        let mut sources = HashMap::new();
        for tool in page["items"].as_array().unwrap() {
            assert_eq!(tool["parameters"]["type"], "object", "{tool}");
            assert_eq!(tool["parameters"]["additionalProperties"], false, "{tool}");
            assert!(tool["description"].as_str().unwrap().len() > 40, "{tool}");
            assert_eq!(tool.as_object().unwrap().len(), 5, "{tool}");
            let key = tool["key"].as_str().unwrap().to_owned();
            assert!(sources.insert(key, tool["source"].as_str().unwrap().to_owned()).is_none(), "{tool}");
        }
        for (key, source) in [
            ("message_npc", "party"),
            ("remember", "memory"),
            ("recall", "memory"),
            ("forget", "memory"),
            ("current_time", "toolbox"),
            ("calculate", "toolbox"),
            ("fetch_url", "toolbox"),
        ] {
            assert_eq!(sources.get(key).map(String::as_str), Some(source), "{key}");
        }
        assert!(!DEFAULT.contains(&"fetch_url"), "what reaches beyond the Village is granted by hand");
        assert_eq!(page["next"], Value::Null);
        assert_eq!(village.refused("", Method::GET, "/api/tools", Value::Null).await.0, 401);
    }
}
