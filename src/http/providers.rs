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
    village::change,
};
use crate::{
    auth::{Admin, Who},
    store::providers::ProviderRow,
    village::{
        VillageState,
        patch::Object,
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
            // An address of the environment may hold a user and a password: scheme, host and path are all that is shown.
            base_url: known.base_url.map(|url| format!("{}{}", url.origin().ascii_serialization(), url.path())),
            id: known.id,
            name: known.name,
            kind: known.kind,
            quirks: known.quirks,
            source: known.source,
        }
    }
}

#[derive(Debug, Serialize)]
struct Listed {
    items: Vec<View>,
    /// Always null: there are few.
    next: Option<String>,
}

async fn list(_who: Who, State(village): State<VillageState>) -> Result<axum::Json<Listed>, ApiError> {
    let (_, known) = village.choices().await?;
    Ok(axum::Json(Listed { items: known.into_iter().map(View::from).collect(), next: None }))
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
    Json { value: Object(fields), .. }: Json<Object<ProviderFields>>,
) -> Result<(StatusCode, axum::Json<View>), ApiError> {
    let (vault, now) = (village.vault.clone(), Timestamp::now());
    let row = change(&village.store, move |conn| provider::create(conn, &vault, fields, ProviderId::generate(), now)).await?;
    Ok((StatusCode::CREATED, axum::Json(view(row, &village)?)))
}

async fn update(
    Admin(_who): Admin,
    State(village): State<VillageState>,
    Id(id): Id<ProviderId>,
    Json { value: Object(fields), .. }: Json<Object<ProviderFields>>,
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
