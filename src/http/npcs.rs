//! `/api/npcs`. Every signed-in Player reads and makes NPCs; who made one, or an admin, changes and deletes it.

use axum::{
    Router,
    extract::{FromRef, FromRequestParts, State},
    routing::get,
};
use hamlet_actors::vocabulary::{NpcId, Timestamp};
use http::StatusCode;

use super::{
    error::ApiError,
    extract::{Id, Json, Query},
    page::{Asked, Page},
    village::change,
};
use crate::{
    auth::Who,
    store::npcs::{self, NpcRecord},
    village::{
        VillageState,
        npc::{self, Making, NpcFields},
    },
};

pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    VillageState: FromRef<S>,
    Who: FromRequestParts<S>,
{
    Router::new()
        .route("/api/npcs", get(list).post(create))
        .route("/api/npcs/{id}", get(read).patch(update).delete(remove))
}

async fn list(
    _who: Who,
    State(village): State<VillageState>,
    Query(asked): Query<Asked>,
) -> Result<axum::Json<Page<NpcRecord>>, ApiError> {
    let (limit, after) = (asked.limit()?, asked.after::<NpcId>()?);
    let records = village.store.read(move |conn| npcs::list(conn, after, limit + 1)).await?;
    Ok(axum::Json(Page::of(records, limit, |record| record.npc.id.to_string(), |record| record)))
}

async fn create(
    who: Who,
    State(village): State<VillageState>,
    Json { value: fields, .. }: Json<NpcFields>,
) -> Result<(StatusCode, axum::Json<NpcRecord>), ApiError> {
    let given = village.given();
    let making = Making { id: NpcId::generate(), by: Some(who.id), at: Timestamp::now() };
    let record = change(&village.store, move |conn| npc::create(conn, fields, making, &given)).await?;
    Ok((StatusCode::CREATED, axum::Json(record)))
}

async fn read(
    _who: Who,
    State(village): State<VillageState>,
    Id(id): Id<NpcId>,
) -> Result<axum::Json<NpcRecord>, ApiError> {
    Ok(axum::Json(village.store.read(move |conn| npcs::get(conn, id)).await?))
}

async fn update(
    who: Who,
    State(village): State<VillageState>,
    Id(id): Id<NpcId>,
    Json { value: fields, .. }: Json<NpcFields>,
) -> Result<axum::Json<NpcRecord>, ApiError> {
    let given = village.given();
    let now = Timestamp::now();
    let record = change(&village.store, move |conn| npc::change(conn, id, fields, &who, now, &given)).await?;
    Ok(axum::Json(record))
}

async fn remove(who: Who, State(village): State<VillageState>, Id(id): Id<NpcId>) -> Result<StatusCode, ApiError> {
    change(&village.store, move |conn| npc::delete(conn, id, &who)).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::{Value, json};

    use crate::http::village::testing::{ADA, ADMIN, BO, TestVillage};

    const NPCS: &str = "/api/npcs";

    async fn made(village: &TestVillage, body: Value) -> Value {
        village.done(ADA, Method::POST, NPCS, body).await
    }

    fn path(npc: &Value) -> String {
        format!("{NPCS}/{}", npc["id"].as_str().unwrap())
    }

    #[tokio::test]
    async fn a_new_npc_has_the_whole_shape_with_its_defaults() {
        let village = TestVillage::new().await;
        let (status, mut npc) = village.ask(BO, Method::POST, NPCS, json!({"name": " Ada Byron "})).await;
        assert_eq!(status, 201);
        assert_eq!(village.done(ADA, Method::GET, &path(&npc), Value::Null).await, npc);
        for varying in ["id", "createdAt", "updatedAt"] {
            assert!(npc.as_object_mut().unwrap().remove(varying).unwrap().is_string());
        }
        let expected = json!({
            "slug": "ada-byron", "name": "Ada Byron", "jobTitle": "", "description": "", "instructions": "", "providerId": null,
            "model": null, "params": {}, "avatar": null, "greetings": [], "tags": [], "extensions": {},
        });
        assert_eq!(npc, expected);
    }

    #[tokio::test]
    async fn what_is_sent_is_what_is_kept() {
        let village = TestVillage::new().await;
        let body = json!({
            "slug": "ada", "name": "Ada", "jobTitle": "Cook", "description": "Cooks.\nWell.", "instructions": "Be kind.",
            "providerId": "c5e43c42-031f-8ec2-ac3f-66ff626a8ffc", "model": "m", "avatar": "🍲", "greetings": ["Hi"],
            "params": {"temperature": 0.5, "topP": 1.0, "maxOutputTokens": 10, "stop": ["x"], "seed": -1, "reasoningEffort": "low"},
            "tags": ["food"], "extensions": {"creator": {"name": "me"}},
        });
        let npc = made(&village, body.clone()).await;
        for (field, value) in body.as_object().unwrap() {
            assert_eq!(&npc[field], value, "{field}");
        }
    }

    #[tokio::test]
    async fn a_change_leaves_what_is_absent_and_clears_what_is_null() {
        let village = TestVillage::new().await;
        let npc =
            made(&village, json!({"name": "Ada", "model": "m", "avatar": "🍲", "tags": ["a"], "params": {"seed": 1}}))
                .await;
        let change = json!({"name": "Bea", "model": null, "tags": [], "params": {"temperature": 1.0}});
        let changed = village.done(ADA, Method::PATCH, &path(&npc), change).await;
        let mut expected = npc.clone();
        expected["name"] = json!("Bea");
        expected["model"] = Value::Null;
        expected["tags"] = json!([]);
        expected["params"] = json!({"temperature": 1.0});
        expected["updatedAt"] = changed["updatedAt"].clone();
        assert_eq!(changed, expected, "the slug stays");
        assert_eq!(village.done(BO, Method::GET, &path(&npc), Value::Null).await, expected);
    }

    #[tokio::test]
    async fn slugs_are_made_unique_and_a_given_one_that_is_taken_is_a_conflict() {
        let village = TestVillage::new().await;
        for slug in ["ada", "ada-2", "ada-3"] {
            assert_eq!(made(&village, json!({"name": "Ada"})).await["slug"], slug);
        }
        let (status, answer) = village.ask(ADA, Method::POST, NPCS, json!({"name": "X", "slug": "ada-2"})).await;
        assert_eq!((status.as_u16(), answer["error"]["message"].as_str().unwrap()), (409, "The slug ada-2 is taken."));
        let other = made(&village, json!({"name": "Bo"})).await;
        let (status, answer) = village.ask(ADA, Method::PATCH, &path(&other), json!({"slug": "ada"})).await;
        assert_eq!((status.as_u16(), answer["error"]["message"].as_str().unwrap()), (409, "The slug ada is taken."));
        village.done(ADA, Method::PATCH, &path(&other), json!({"slug": "bo"})).await;
    }

    #[tokio::test]
    async fn only_its_maker_or_an_admin_changes_and_deletes_an_npc() {
        let village = TestVillage::new().await;
        let npc = made(&village, json!({"name": "Ada"})).await;
        let forbidden = (403, "FORBIDDEN".to_owned());
        assert_eq!(village.refused(BO, Method::PATCH, &path(&npc), json!({"name": "X"})).await, forbidden);
        assert_eq!(village.refused(BO, Method::DELETE, &path(&npc), Value::Null).await, forbidden);
        assert_eq!(village.done(BO, Method::GET, &path(&npc), Value::Null).await, npc);
        village.done(ADMIN, Method::PATCH, &path(&npc), json!({"name": "Bea"})).await;
        let (status, _) = village.ask(ADA, Method::DELETE, &path(&npc), Value::Null).await;
        assert_eq!(status, 204);
        assert_eq!(village.refused(ADA, Method::DELETE, &path(&npc), Value::Null).await, (404, "NOT_FOUND".to_owned()));
    }

    #[tokio::test]
    async fn nobody_is_let_in_without_being_known() {
        let village = TestVillage::new().await;
        let npc = made(&village, json!({"name": "Ada"})).await;
        for (method, path) in [
            (Method::GET, NPCS.to_owned()),
            (Method::POST, NPCS.to_owned()),
            (Method::GET, path(&npc)),
            (Method::PATCH, path(&npc)),
            (Method::DELETE, path(&npc)),
        ] {
            let refused = village.refused("", method.clone(), &path, json!({"name": "X"})).await;
            assert_eq!(refused, (401, "UNAUTHENTICATED".to_owned()), "{method} {path}");
        }
    }

    #[tokio::test]
    async fn whatever_is_malformed_is_refused_with_a_code() {
        let village = TestVillage::new().await;
        let npc = made(&village, json!({"name": "Ada"})).await;
        let bad = [
            "",
            "null",
            "[]",
            r#"["a","Ada"]"#,
            "{",
            "1",
            r#"{"name":null}"#,
            r#"{"name":""}"#,
            r#"{"name":"a\u0000"}"#,
            r#"{"name":"A","name":"B"}"#,
            r#"{"name":"A","extra":1}"#,
            r#"{"name":"A","slug":"Ä"}"#,
            r#"{"name":"A","id":"x"}"#,
            r#"{"name":"A","params":{"temperature":1e999}}"#,
            r#"{"name":"A","providerId":"x"}"#,
            r#"{"name":"A","providerId":"0198c0de-0000-7000-8000-000000000000"}"#,
            r#"{"name":"\ud800"}"#,
        ];
        for body in bad {
            for (method, path) in [(Method::POST, NPCS.to_owned()), (Method::PATCH, path(&npc))] {
                let (status, answer) = village.ask_raw(ADA, method.clone(), &path, body).await;
                assert_eq!(
                    (status.as_u16(), &answer["error"]["code"]),
                    (400, &json!("INVALID_BODY")),
                    "{method} {body}"
                );
            }
        }
        let (status, _) = village.ask_raw(ADA, Method::POST, NPCS, vec![b'{', 0xff]).await;
        assert_eq!(status, 400);
        assert_eq!(village.refused(ADA, Method::POST, NPCS, json!({})).await.0, 400);
        for id in ["x", "%00", "0198c0de-0000-7000-8000-000000000000", "..", "%ff"] {
            let refused = village.refused(ADA, Method::GET, &format!("{NPCS}/{id}"), Value::Null).await;
            assert_eq!(refused.0, 404, "{id}");
        }
        for query in
            ["limit=0", "limit=201", "limit=x", "limit=-1", "after=x", "after=AAAA", "page=2", "limit=1&limit=2"]
        {
            let refused = village.refused(ADA, Method::GET, &format!("{NPCS}?{query}"), Value::Null).await;
            assert_eq!(refused, (400, "INVALID_BODY".to_owned()), "{query}");
        }
    }

    #[tokio::test]
    async fn a_list_is_read_page_by_page_to_its_end() {
        let village = TestVillage::new().await;
        for n in 0..5 {
            made(&village, json!({"name": format!("N{n}")})).await;
        }
        let (mut names, mut path) = (Vec::new(), format!("{NPCS}?limit=2"));
        loop {
            let page = village.done(BO, Method::GET, &path, Value::Null).await;
            names.extend(page["items"].as_array().unwrap().iter().map(|npc| npc["name"].as_str().unwrap().to_owned()));
            let Some(next) = page["next"].as_str() else { break };
            path = format!("{NPCS}?limit=2&after={next}");
        }
        assert_eq!(names, ["N0", "N1", "N2", "N3", "N4"]);
        let all = village.done(BO, Method::GET, &format!("{NPCS}?limit=5"), Value::Null).await;
        assert_eq!((all["items"].as_array().unwrap().len(), &all["next"]), (5, &Value::Null));
    }

    #[tokio::test]
    async fn a_deleted_npc_leaves_its_conversations_and_its_messages_stay() {
        let village = TestVillage::new().await;
        let npc = made(&village, json!({"name": "Ada"})).await;
        let id: hamlet_actors::vocabulary::NpcId = npc["id"].as_str().unwrap().parse().unwrap();
        let counts = |conn: &rusqlite::Connection| {
            let sql = "SELECT (SELECT count(*) FROM participants), (SELECT count(*) FROM messages)";
            Ok(conn.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?)
        };
        let spoken = move |conn: &rusqlite::Connection| {
            conn.execute(
                "INSERT INTO conversations (key, id, owner_id, created_at, updated_at) SELECT 1, x'01', id, 0, 0 FROM players LIMIT 1",
                [],
            )?;
            conn.execute(
                "INSERT INTO participants (conversation_key, npc_id, ordinal, joined_at) VALUES (1, ?1, 0, 0)",
                [id.0.into_bytes()],
            )?;
            conn.execute(
                "INSERT INTO messages (id, conversation_key, turn_id, role, author_kind, author_id, author_name, position, \
                   status, first_seq, last_seq, created_at) \
                 VALUES (x'02', 1, x'03', 'npc', 'npc', ?1, 'Ada', 0, 'complete', 1, 2, 0)",
                [id.to_string()],
            )?;
            counts(conn)
        };
        assert_eq!(village.state.store.write(spoken).await.unwrap(), (1, 1));
        village.ask(ADA, Method::DELETE, &path(&npc), Value::Null).await;
        assert_eq!(village.state.store.read(counts).await.unwrap(), (0, 1));
    }
}
