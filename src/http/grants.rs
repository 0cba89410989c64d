//! `/api/npcs/{id}/grants`: what an NPC may call. Every signed-in Player reads it; who made the NPC, or an admin, replaces it.

use axum::{
    Router,
    extract::{FromRef, FromRequestParts, State},
    routing::get,
};
use hamlet_actors::vocabulary::{Grant, NpcId};

use super::{
    error::ApiError,
    extract::{Id, JsonList},
    page::Page,
    village::change,
};
use crate::{
    auth::Who,
    village::{VillageState, grants, patch::Object},
};

pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    VillageState: FromRef<S>,
    Who: FromRequestParts<S>,
{
    Router::new().route("/api/npcs/{id}/grants", get(read).put(replace))
}

async fn read(
    _who: Who,
    State(village): State<VillageState>,
    Id(id): Id<NpcId>,
) -> Result<axum::Json<Page<Grant>>, ApiError> {
    Ok(axum::Json(Page::whole(village.store.read(move |conn| grants::of(conn, id)).await?)))
}

async fn replace(
    who: Who,
    State(village): State<VillageState>,
    Id(id): Id<NpcId>,
    JsonList(given): JsonList<Object<Grant>>,
) -> Result<axum::Json<Page<Grant>>, ApiError> {
    let kept = change(&village.store, move |conn| grants::replace(conn, id, given, &who)).await?;
    Ok(axum::Json(Page::whole(kept)))
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::{Value, json};

    use crate::http::village::testing::{ADA, ADMIN, BO, TestVillage};

    async fn npc(village: &TestVillage) -> String {
        let npc = village.done(ADA, Method::POST, "/api/npcs", json!({"name": "Mara"})).await;
        format!("/api/npcs/{}/grants", npc["id"].as_str().unwrap())
    }

    #[tokio::test]
    async fn a_new_npc_may_call_what_reaches_nowhere_and_its_maker_decides_on_the_rest() {
        let village = TestVillage::new().await;
        let path = npc(&village).await;
        let first = village.done(BO, Method::GET, &path, Value::Null).await;
        let keys: Vec<&str> =
            first["items"].as_array().unwrap().iter().map(|grant| grant["tool"].as_str().unwrap()).collect();
        assert!(keys.contains(&"calculate") && !keys.contains(&"fetch_url"), "{keys:?}");
        let given = json!([
            {"tool": "files/read_file", "approval": "always"},
            {"tool": " calculate "},
            {"tool": "nobody/offers_this", "approval": "never"},
        ]);
        let expected = json!({"items": [
            {"tool": "calculate", "approval": "never"},
            {"tool": "files/read_file", "approval": "always"},
            {"tool": "nobody/offers_this", "approval": "never"},
        ], "next": null});
        assert_eq!(village.done(ADA, Method::PUT, &path, given).await, expected);
        assert_eq!(village.done(BO, Method::GET, &path, Value::Null).await, expected);
        let nothing = village.done(ADMIN, Method::PUT, &path, json!([])).await;
        assert_eq!(nothing, json!({"items": [], "next": null}));
    }

    #[tokio::test]
    async fn only_who_may_change_the_npc_changes_what_it_may_call() {
        let village = TestVillage::new().await;
        let path = npc(&village).await;
        let before = village.done(ADA, Method::GET, &path, Value::Null).await;
        assert_eq!(village.refused(BO, Method::PUT, &path, json!([])).await, (403, "FORBIDDEN".to_owned()));
        assert_eq!(village.refused("", Method::PUT, &path, json!([])).await.0, 401);
        assert_eq!(village.refused("", Method::GET, &path, Value::Null).await.0, 401);
        assert_eq!(village.done(ADA, Method::GET, &path, Value::Null).await, before);
        for id in ["0198c0de-0000-7000-8000-000000000000", "x", "%00"] {
            let path = format!("/api/npcs/{id}/grants");
            assert_eq!(village.refused(ADMIN, Method::GET, &path, Value::Null).await.0, 404, "{id}");
            assert_eq!(village.refused(ADMIN, Method::PUT, &path, json!([])).await.0, 404, "{id}");
        }
    }

    #[tokio::test]
    async fn a_list_that_does_not_fit_changes_nothing() {
        let village = TestVillage::new().await;
        let path = npc(&village).await;
        let before = village.done(ADA, Method::GET, &path, Value::Null).await;
        let many: Vec<Value> = (0..201).map(|n| json!({"tool": format!("t{n}")})).collect();
        for body in [
            json!({}),
            json!({"items": []}),
            json!("calculate"),
            json!(["calculate"]),
            json!([["calculate", "never"]]),
            json!([{}]),
            json!([{"tool": ""}]),
            json!([{"tool": " "}]),
            json!([{"tool": "a\nb"}]),
            json!([{"tool": "x".repeat(201)}]),
            json!([{"tool": null}]),
            json!([{"tool": "a", "approval": "maybe"}]),
            json!([{"tool": "a", "approval": null}]),
            json!([{"tool": "a", "server": "b"}]),
            json!([{"tool": "a"}, {"tool": "a", "approval": "always"}]),
            json!([{"tool": "a"}, {"tool": " a"}]),
            json!(many),
        ] {
            let refused = village.refused(ADA, Method::PUT, &path, body.clone()).await;
            assert_eq!(refused, (400, "INVALID_BODY".to_owned()), "{body}");
        }
        for raw in ["", "[", "null", "[{\"tool\":\"a\",\"tool\":\"b\"}]"] {
            let (status, _) = village.ask_raw(ADA, Method::PUT, &path, raw).await;
            assert_eq!(status, 400, "{raw}");
        }
        assert_eq!(village.done(ADA, Method::GET, &path, Value::Null).await, before);
    }
}
