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
            return Err(ApiError::new(ErrorCode::SettingPinned, message).with(json!({"setting": name, "source": source})));
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
    let named = changes.iter().find(|(setting, value)| *setting == Setting::DefaultProviderId && !value.is_null());
    if let Some((setting, value)) = named {
        let id: Option<ProviderId> = value.as_str().and_then(|id| id.parse().ok());
        let known = registry::known(conn, &state.vault, &state.environment, &state.found)?;
        if !known.iter().any(|known| Some(known.id) == id) {
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
