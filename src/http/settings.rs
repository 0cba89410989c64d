//! `/api/settings`. Every signed-in Player reads them, each with what it comes from; an admin changes those that are not
//! pinned from outside. A change is taken as a whole or not at all.

use axum::{
    Router,
    extract::{FromRef, FromRequestParts, State},
    routing::get,
};
use hamlet_actors::vocabulary::{ErrorCode, ProviderId};
use rusqlite::Connection;
use serde_json::{Map, Value, json};

use super::{error::ApiError, extract::Json, village::change};
use crate::{
    auth::{Admin, Who},
    store::{StoreError, settings as stored},
    village::{
        VillageState, registry, resolve,
        settings::{self, Setting, Settings},
        text::Invalid,
    },
};

pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    VillageState: FromRef<S>,
    Who: FromRequestParts<S>,
    Admin: FromRequestParts<S>,
{
    Router::new().route("/api/settings", get(read).patch(update))
}

async fn read(_who: Who, State(village): State<VillageState>) -> Result<axum::Json<Map<String, Value>>, ApiError> {
    let state = village.clone();
    Ok(axum::Json(village.store.read(move |conn| view(conn, &state)).await?))
}

async fn update(
    Admin(_who): Admin,
    State(village): State<VillageState>,
    Json { value: body, .. }: Json<Map<String, Value>>,
) -> Result<axum::Json<Map<String, Value>>, ApiError> {
    let mut changes = Vec::with_capacity(body.len());
    for (name, value) in body {
        let setting = Setting::named(&name).ok_or_else(|| unknown(&name))?;
        if let Some(source) = village.pins.source(setting) {
            let message = format!("{name} is set by {source} and can't be changed here.");
            return Err(
                ApiError::new(ErrorCode::SettingPinned, message).with(json!({"setting": name, "source": source}))
            );
        }
        if !value.is_null() {
            Settings::default().set(setting, &value)?;
        }
        changes.push((setting, value));
    }
    let state = village.clone();
    let view = change(&village.store, move |conn| store(conn, &state, &changes)).await?;
    Ok(axum::Json(view))
}

fn store(
    conn: &Connection,
    state: &VillageState,
    changes: &[(Setting, Value)],
) -> Result<Result<Map<String, Value>, Invalid>, StoreError> {
    let known = registry::known(conn, &state.vault, &state.environment, &state.found)?;
    let is_known = |id: ProviderId| known.iter().any(|known| known.id == id);
    for (setting, value) in changes.iter().filter(|(_, value)| !value.is_null()) {
        let fits = match setting {
            Setting::DefaultProviderId => value.as_str().and_then(|id| id.parse().ok()).is_some_and(is_known),
            Setting::ModelRoles => {
                let mut wanted = Settings::default();
                if let Err(invalid) = wanted.set(*setting, value) {
                    return Ok(Err(invalid));
                }
                wanted.model_roles.providers().all(is_known)
            }
            _ => true,
        };
        if !fits {
            return Ok(Err(Invalid::new(setting.name(), "names no Provider that is known")));
        }
    }
    for (setting, value) in changes {
        match value {
            Value::Null => stored::clear(conn, setting.name())?,
            value => stored::set(conn, setting.name(), value)?,
        }
    }
    Ok(Ok(view(conn, state)?))
}

/// Every setting as `{value, source}`. A default Provider or model that nobody set is shown as what it is now.
fn view(conn: &Connection, state: &VillageState) -> Result<Map<String, Value>, StoreError> {
    let known = registry::known(conn, &state.vault, &state.environment, &state.found)?;
    let effective = settings::effective(conn, &state.pins)?;
    let in_store = stored::all(conn)?;
    // A default that is gone is shown as it was set: turns are refused, and this page is where to repair it.
    let default = resolve::default_provider(&effective, &known).ok();
    let mut view = Map::new();
    for setting in Setting::ALL {
        let value = match (setting, default) {
            (Setting::DefaultProviderId, Some(default)) => json!(default.id),
            (Setting::DefaultModel, Some(default)) => json!(resolve::default_model(&effective, default)),
            _ => effective.value(setting),
        };
        let source = match state.pins.source(setting) {
            Some(pinned) => pinned,
            None if in_store.contains_key(setting.name()) => "stored",
            None => "default",
        };
        view.insert(setting.name().to_owned(), json!({"value": value, "source": source}));
    }
    Ok(view)
}

fn unknown(name: &str) -> ApiError {
    let known = Setting::ALL.map(Setting::name).join(", ");
    let name: String = name.chars().take(64).collect();
    ApiError::invalid(format!("There is no setting {name:?}. There are: {known}."))
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::{
        http::village::testing::{ADA, ADMIN, TestVillage},
        village::{registry::EnvironmentProviders, settings::Pins},
    };

    const SETTINGS: &str = "/api/settings";
    const REHEARSAL: &str = "c5e43c42-031f-8ec2-ac3f-66ff626a8ffc";

    fn from(source: &str, value: Value) -> Value {
        json!({"value": value, "source": source})
    }

    #[tokio::test]
    async fn with_nothing_set_every_setting_is_shown_with_its_default() {
        let village = TestVillage::new().await;
        let expected = json!({
            "defaultProviderId": from("default", json!(REHEARSAL)),
            "defaultModel": from("default", json!("rehearsal")),
            "hopLimit": from("default", json!(6)),
            "stepLimit": from("default", json!(16)),
            "windowTokens": from("default", json!(60_000)),
            "whenUnwatched": from("default", json!({"finish": true})),
            "signUp": from("default", json!("invite")),
            "titles": from("default", json!(true)),
            "modelRoles": from("default", json!({"main": null, "subagent": null, "utility": null})),
            "fetchPrivateAddresses": from("default", json!(false)),
        });
        assert_eq!(village.done(ADA, Method::GET, SETTINGS, Value::Null).await, expected);
        assert_eq!(village.refused("", Method::GET, SETTINGS, Value::Null).await.0, 401);
    }

    #[tokio::test]
    async fn an_admin_sets_and_resets_what_a_player_only_reads() {
        let village = TestVillage::new().await;
        let change = json!({"hopLimit": 2, "whenUnwatched": {"abortAfterSeconds": 0}, "defaultProviderId": REHEARSAL});
        assert_eq!(village.refused(ADA, Method::PATCH, SETTINGS, change.clone()).await, (403, "FORBIDDEN".to_owned()));
        let set = village.done(ADMIN, Method::PATCH, SETTINGS, change).await;
        assert_eq!(set["hopLimit"], from("stored", json!(2)));
        assert_eq!(set["whenUnwatched"], from("stored", json!({"abortAfterSeconds": 0})));
        assert_eq!(set["defaultProviderId"], from("stored", json!(REHEARSAL)));
        assert_eq!(village.done(ADA, Method::GET, SETTINGS, Value::Null).await, set);
        let reset = village.done(ADMIN, Method::PATCH, SETTINGS, json!({"hopLimit": null, "signUp": null})).await;
        assert_eq!(reset["hopLimit"], from("default", json!(6)));
        assert_eq!(reset["defaultProviderId"], from("stored", json!(REHEARSAL)));
    }

    #[tokio::test]
    async fn roles_are_set_as_a_whole_with_providers_that_are_known() {
        let village = TestVillage::new().await;
        let main = json!({"providerId": REHEARSAL, "model": "m"});
        village.done(ADMIN, Method::PATCH, SETTINGS, json!({"modelRoles": {"main": main}})).await;
        let set =
            village.done(ADMIN, Method::PATCH, SETTINGS, json!({"modelRoles": {"utility": {"model": "u"}}})).await;
        let utility = json!({"providerId": null, "model": "u"});
        let expected = json!({"main": null, "subagent": null, "utility": utility});
        assert_eq!(set["modelRoles"], from("stored", expected));
    }

    #[tokio::test]
    async fn a_change_that_does_not_fit_changes_nothing() {
        let village = TestVillage::new().await;
        let before = village.done(ADA, Method::GET, SETTINGS, Value::Null).await;
        for bad in [
            json!({"hopLimit": 3, "stepLimit": 0}),
            json!({"hopLimit": 3, "modelRole": {}}),
            json!({"hopLimit": 3, "modelRoles": {"main": {"model": ""}}}),
            json!({"hopLimit": 3, "modelRoles": {"utility": {"providerId": "0198c0de-0000-7000-8000-000000000000", "model": "m"}}}),
            json!({"hopLimit": 3, "_seeded": null}),
            json!({"hopLimit": 3, "defaultProviderId": "rehearsal"}),
            json!({"hopLimit": 3, "defaultProviderId": "0198c0de-0000-7000-8000-000000000000"}),
            json!({"hopLimit": {"value": 3}}),
            json!([]),
            json!("hopLimit"),
        ] {
            let refused = village.refused(ADMIN, Method::PATCH, SETTINGS, bad.clone()).await;
            assert_eq!(refused, (400, "INVALID_BODY".to_owned()), "{bad}");
        }
        assert_eq!(village.done(ADA, Method::GET, SETTINGS, Value::Null).await, before);
    }

    #[tokio::test]
    async fn a_pinned_setting_says_by_what_and_is_not_changed() {
        let mut pins = Pins::default();
        pins.pin(Setting::HopLimit, json!(0), "HAMLET_HOP_LIMIT").unwrap();
        pins.pin(Setting::DefaultProviderId, json!("openrouter"), "LLM_PROVIDER").unwrap();
        let environment = EnvironmentProviders {
            openai_api_key: Some("sk".into()),
            openrouter_api_key: Some("sk-or".into()),
            ..EnvironmentProviders::default()
        };
        let village = TestVillage::with(environment, Vec::new(), pins).await;
        let shown = village.done(ADA, Method::GET, SETTINGS, Value::Null).await;
        assert_eq!(shown["hopLimit"], from("HAMLET_HOP_LIMIT", json!(0)));
        let openrouter = "ff8aed5b-fb4a-8a0a-9658-e8a892e61790";
        assert_eq!(shown["defaultProviderId"], from("LLM_PROVIDER", json!(openrouter)));
        assert_eq!(shown["defaultModel"], from("default", json!("openrouter/auto")));
        for value in [json!(5), Value::Null] {
            let (status, answer) =
                village.ask(ADMIN, Method::PATCH, SETTINGS, json!({"stepLimit": 9, "hopLimit": value})).await;
            assert_eq!((status.as_u16(), &answer["error"]["code"]), (409, &json!("SETTING_PINNED")));
            let message = answer["error"]["message"].as_str().unwrap();
            assert_eq!(message, "hopLimit is set by HAMLET_HOP_LIMIT and can't be changed here.");
        }
        assert_eq!(village.done(ADA, Method::GET, SETTINGS, Value::Null).await, shown);
    }
}
