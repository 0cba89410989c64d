//! `/api/providers`. Every signed-in Player sees which Providers there are; an admin adds, changes and deletes stored ones.
//! A key comes in and never goes out: what is answered says only whether there is one.

use axum::{
    Router,
    extract::{FromRef, FromRequestParts, State},
    routing::{get, patch},
};
use hamlet_actors::vocabulary::{ErrorCode, ProviderId, Timestamp};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    error::ApiError,
    extract::{Id, Json, Query},
    page::Page,
    village::change,
};
use crate::{
    auth::{Admin, Who},
    store::providers::ProviderRow,
    village::{
        VillageState, address,
        provider::{self, ProviderFields, WhenInUse},
        registry::{self, Known, Source},
    },
};

pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    VillageState: FromRef<S>,
    Who: FromRequestParts<S>,
    Admin: FromRequestParts<S>,
{
    Router::new()
        .route("/api/providers", get(list).post(create))
        .route("/api/providers/{id}", patch(update).get(read).delete(remove))
}

/// A Provider as everybody may see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: ProviderId,
    name: String,
    kind: String,
    base_url: Option<String>,
    has_key: bool,
    quirks: Map<String, Value>,
    source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

impl From<Known> for View {
    fn from(known: Known) -> Self {
        Self {
            has_key: known.has_key(),
            warning: provider::warning(&known),
            base_url: known.base_url.as_ref().map(address::shown),
            id: known.id,
            name: known.name,
            kind: known.kind,
            quirks: known.quirks,
            source: known.source,
        }
    }
}

async fn list(_who: Who, State(village): State<VillageState>) -> Result<axum::Json<Page<View>>, ApiError> {
    let (_, known) = village.choices().await?;
    Ok(axum::Json(Page::whole(known.into_iter().map(View::from).collect())))
}

async fn read(
    _who: Who,
    State(village): State<VillageState>,
    Id(id): Id<ProviderId>,
) -> Result<axum::Json<View>, ApiError> {
    Ok(axum::Json(village.provider(id).await?.into()))
}

async fn create(
    Admin(_who): Admin,
    State(village): State<VillageState>,
    Json { value: fields, .. }: Json<ProviderFields>,
) -> Result<(StatusCode, axum::Json<View>), ApiError> {
    let (vault, now) = (village.vault.clone(), Timestamp::now());
    let row =
        change(&village.store, move |conn| provider::create(conn, &vault, fields, ProviderId::generate(), now)).await?;
    Ok((StatusCode::CREATED, axum::Json(view(row, &village)?)))
}

async fn update(
    Admin(_who): Admin,
    State(village): State<VillageState>,
    Id(id): Id<ProviderId>,
    Json { value: fields, .. }: Json<ProviderFields>,
) -> Result<axum::Json<View>, ApiError> {
    refuse_given(&village, id)?;
    let (vault, now) = (village.vault.clone(), Timestamp::now());
    let row = change(&village.store, move |conn| provider::change(conn, &vault, id, fields, now)).await?;
    Ok(axum::Json(view(row, &village)?))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Deletion {
    force: Option<Switch>,
}

#[derive(Debug, Deserialize)]
enum Switch {
    #[serde(rename = "1", alias = "true")]
    On,
    #[serde(rename = "0", alias = "false")]
    Off,
}

async fn remove(
    Admin(_who): Admin,
    State(village): State<VillageState>,
    Id(id): Id<ProviderId>,
    Query(deletion): Query<Deletion>,
) -> Result<StatusCode, ApiError> {
    refuse_given(&village, id)?;
    let when_in_use = match deletion.force {
        Some(Switch::On) => WhenInUse::DeleteAllTheSame,
        Some(Switch::Off) | None => WhenInUse::Refuse,
    };
    let pins = village.pins.clone();
    change(&village.store, move |conn| provider::delete(conn, &pins, id, when_in_use)).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn view(row: ProviderRow, village: &VillageState) -> Result<View, ApiError> {
    Ok(registry::of_row(row, &village.vault)?.into())
}

/// What has no row is changed where it comes from.
fn refuse_given(village: &VillageState, id: ProviderId) -> Result<(), ApiError> {
    let given = registry::given(&village.environment, &village.found);
    let Some(known) = given.into_iter().find(|known| known.id == id) else { return Ok(()) };
    let by = match known.source {
        Source::Environment => "is set by the environment of the server",
        Source::Found => "was found on this machine when Hamlet started",
        Source::BuiltIn | Source::Stored => "is part of Hamlet",
    };
    Err(ApiError::new(ErrorCode::SettingPinned, format!("{} {by} and can't be changed here.", known.name)))
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::json;

    use super::*;
    use crate::{
        http::village::testing::{ADA, ADMIN, TestVillage},
        vault::Vault,
        village::{registry::EnvironmentProviders, settings::Pins},
    };

    const PROVIDERS: &str = "/api/providers";
    const REHEARSAL: &str = "c5e43c42-031f-8ec2-ac3f-66ff626a8ffc";

    fn path(provider: &Value) -> String {
        format!("{PROVIDERS}/{}", provider["id"].as_str().unwrap())
    }

    fn new_provider() -> Value {
        json!({"name": "Mine", "kind": "openai-chat", "baseUrl": "http://10.0.0.1/v1/", "apiKey": "sk-secret", "quirks": {"thinkTags": true}})
    }

    #[tokio::test]
    async fn a_key_goes_in_and_never_comes_out() {
        let village = TestVillage::new().await;
        let (status, made) = village.ask(ADMIN, Method::POST, PROVIDERS, new_provider()).await;
        assert_eq!(status, 201);
        let mut expected = json!({
            "id": made["id"], "name": "Mine", "kind": "openai-chat", "baseUrl": "http://10.0.0.1/v1", "hasKey": true,
            "quirks": {"thinkTags": true}, "source": "stored",
            "warning": "The key is sent to another machine without encryption. Use https if you can.",
        });
        assert_eq!(made, expected);
        assert_eq!(village.done(ADA, Method::GET, &path(&made), Value::Null).await, expected);
        let list = village.done(ADA, Method::GET, PROVIDERS, Value::Null).await;
        let rehearsal = json!({
            "id": REHEARSAL, "name": "Rehearsal", "kind": "rehearsal", "baseUrl": null, "hasKey": false, "quirks": {},
            "source": "built-in",
        });
        assert_eq!(list, json!({"items": [expected, rehearsal], "next": null}));
        let cleared = village.done(ADMIN, Method::PATCH, &path(&made), json!({"apiKey": null})).await;
        expected["hasKey"] = json!(false);
        expected.as_object_mut().unwrap().remove("warning");
        assert_eq!(cleared, expected);
    }

    #[tokio::test]
    async fn a_key_sealed_with_another_key_file_reads_as_none_with_a_warning() {
        let village = TestVillage::new().await;
        let made = village.done(ADMIN, Method::POST, PROVIDERS, new_provider()).await;
        let other = Vault::new(&[8; 32]);
        let row = village
            .state
            .store
            .read({
                let id: ProviderId = made["id"].as_str().unwrap().parse().unwrap();
                move |conn| crate::store::providers::get(conn, id)
            })
            .await
            .unwrap();
        let view = serde_json::to_value(View::from(registry::of_row(row, &other).unwrap())).unwrap();
        assert_eq!(view["hasKey"], json!(false));
        assert!(view["warning"].as_str().unwrap().contains("can't be opened"));
    }

    #[tokio::test]
    async fn only_an_admin_adds_changes_and_deletes() {
        let village = TestVillage::new().await;
        let made = village.done(ADMIN, Method::POST, PROVIDERS, new_provider()).await;
        for (method, path) in
            [(Method::POST, PROVIDERS.to_owned()), (Method::PATCH, path(&made)), (Method::DELETE, path(&made))]
        {
            assert_eq!(
                village.refused(ADA, method.clone(), &path, json!({})).await,
                (403, "FORBIDDEN".to_owned()),
                "{method}"
            );
            assert_eq!(village.refused("", method, &path, json!({})).await, (401, "UNAUTHENTICATED".to_owned()));
        }
        assert_eq!(village.refused("", Method::GET, PROVIDERS, Value::Null).await.0, 401);
    }

    #[tokio::test]
    async fn what_has_no_row_cannot_be_changed_here_and_shows_no_credentials() {
        let environment = EnvironmentProviders {
            openai_api_key: Some("sk-env".into()),
            openai_base_url: Some(url::Url::parse("https://user:pass@llm.example/v1?token=abc").unwrap()),
            ..EnvironmentProviders::default()
        };
        let village = TestVillage::with(environment, Vec::new(), Pins::default()).await;
        let list = village.done(ADA, Method::GET, PROVIDERS, Value::Null).await;
        assert_eq!(list["items"][0]["source"], "environment");
        assert_eq!(list["items"][0]["baseUrl"], "https://llm.example/v1");
        for secret in ["sk-env", "pass", "abc"] {
            assert!(!list.to_string().contains(secret), "{secret}");
        }
        for given in list["items"].as_array().unwrap() {
            for method in [Method::PATCH, Method::DELETE] {
                let refused = village.refused(ADMIN, method, &path(given), json!({})).await;
                assert_eq!(refused, (409, "SETTING_PINNED".to_owned()), "{given}");
            }
        }
    }

    #[tokio::test]
    async fn deleting_one_that_is_in_use_says_who_uses_it_and_can_be_forced() {
        let village = TestVillage::new().await;
        let made = village.done(ADMIN, Method::POST, PROVIDERS, new_provider()).await;
        village.done(ADA, Method::POST, "/api/npcs", json!({"name": "Ada", "providerId": made["id"]})).await;
        let (status, answer) = village.ask(ADMIN, Method::DELETE, &path(&made), Value::Null).await;
        assert_eq!(status, 409);
        assert_eq!(answer["error"]["details"], json!({"npcs": ["Ada"], "isDefault": false, "hasRole": false}));
        for not_meant in ["?force=0", "?force=yes", "?forced=1"] {
            let (status, _) =
                village.ask(ADMIN, Method::DELETE, &format!("{}{not_meant}", path(&made)), Value::Null).await;
            assert!(status.is_client_error(), "{not_meant}");
        }
        let (status, _) = village.ask(ADMIN, Method::DELETE, &format!("{}?force=1", path(&made)), Value::Null).await;
        assert_eq!(status, 204);
        assert_eq!(village.refused(ADMIN, Method::DELETE, &path(&made), Value::Null).await.0, 404);
    }

    #[tokio::test]
    async fn whatever_is_malformed_is_refused_with_a_code() {
        let village = TestVillage::new().await;
        let made = village.done(ADMIN, Method::POST, PROVIDERS, new_provider()).await;
        for body in [
            "",
            "[]",
            r#"["A","rehearsal"]"#,
            "{",
            r#"{"name":"A","kind":"smoke"}"#,
            r#"{"name":null}"#,
            r#"{"name":"A","kind":"openai-chat","quirks":{"thinkTag":true}}"#,
            r#"{"name":"A\nB"}"#,
            r#"{"name":"\u0000","kind":"rehearsal"}"#,
            r#"{"name":"A","kind":"openai-chat","baseUrl":"ftp://a"}"#,
            r#"{"name":"A","kind":"openai-chat","apiKey":""}"#,
            r#"{"name":"A","kind":"openai-chat","apiKey":7}"#,
            r#"{"name":"A","kind":"openai-chat","quirks":[]}"#,
            r#"{"name":"A","kind":"openai-chat","hasKey":true}"#,
        ] {
            for (method, path) in [(Method::POST, PROVIDERS.to_owned()), (Method::PATCH, path(&made))] {
                let (status, answer) = village.ask_raw(ADMIN, method.clone(), &path, body).await;
                assert_eq!(
                    (status.as_u16(), &answer["error"]["code"]),
                    (400, &json!("INVALID_BODY")),
                    "{method} {body}"
                );
            }
        }
        assert_eq!(village.refused(ADMIN, Method::PATCH, "/api/providers/x", json!({})).await.0, 404);
    }
}
