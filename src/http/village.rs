//! The Village's refusals as answers over HTTP, and the one way in which its routes change the store.

use std::fmt;

use hamlet_actors::vocabulary::ErrorCode;
use rusqlite::Connection;
use serde_json::json;

use super::error::ApiError;
use crate::{
    store::{Store, StoreError},
    village::{
        grants::GrantsRefusal, memory::MemoryRefusal, npc::NpcRefusal, provider::ProviderRefusal,
        resolve::ResolveRefusal, skill::SkillRefusal, text::Invalid, tool_server::ToolServerRefusal,
    },
};

/// One change in one commit, whose rules may refuse it. A refusal is decided before anything is written.
pub async fn change<T, R, F>(store: &Store, change: F) -> Result<T, ApiError>
where
    T: Send + 'static,
    R: Send + 'static,
    ApiError: From<R>,
    F: FnOnce(&Connection) -> Result<Result<T, R>, StoreError> + Send + 'static,
{
    Ok(store.write(change).await??)
}

impl From<Invalid> for ApiError {
    fn from(invalid: Invalid) -> Self {
        Self::invalid(format!("{invalid}.")).with(json!({"field": invalid.field}))
    }
}

impl From<NpcRefusal> for ApiError {
    fn from(refusal: NpcRefusal) -> Self {
        match refusal {
            NpcRefusal::Invalid(invalid) => invalid.into(),
            NpcRefusal::SlugTaken(_) => Self::new(ErrorCode::Conflict, sentence(&refusal)),
            NpcRefusal::NotYours(_) => Self::new(ErrorCode::Forbidden, sentence(&refusal)),
        }
    }
}

impl From<GrantsRefusal> for ApiError {
    fn from(refusal: GrantsRefusal) -> Self {
        match refusal {
            GrantsRefusal::Invalid(invalid) => invalid.into(),
            GrantsRefusal::Npc(refusal) => refusal.into(),
        }
    }
}

impl From<MemoryRefusal> for ApiError {
    fn from(refusal: MemoryRefusal) -> Self {
        match refusal {
            MemoryRefusal::Invalid(invalid) => invalid.into(),
            MemoryRefusal::Taken | MemoryRefusal::Full(_) => Self::new(ErrorCode::Conflict, sentence(&refusal)),
        }
    }
}

impl From<ProviderRefusal> for ApiError {
    fn from(refusal: ProviderRefusal) -> Self {
        match &refusal {
            ProviderRefusal::Invalid(invalid) => invalid.clone().into(),
            ProviderRefusal::KeyWouldMove => Self::invalid(sentence(&refusal)).with(json!({"field": "apiKey"})),
            ProviderRefusal::NameTaken(_) | ProviderRefusal::Full => Self::new(ErrorCode::Conflict, sentence(&refusal)),
            ProviderRefusal::InUse { npcs, is_default, has_role } => Self::new(
                ErrorCode::Conflict,
                "NPCs or the settings still name this Provider. Repeat with ?force=1 to delete it all the same: they keep \
                 naming it, and are refused with NO_PROVIDER_KEY until that is changed.",
            )
            .with(json!({"npcs": npcs, "isDefault": is_default, "hasRole": has_role})),
            ProviderRefusal::Vault(error) => Self::internal(error),
        }
    }
}

impl From<SkillRefusal> for ApiError {
    fn from(refusal: SkillRefusal) -> Self {
        let code = match refusal {
            SkillRefusal::Invalid(invalid) => return invalid.into(),
            SkillRefusal::NameTaken(_) | SkillRefusal::Full | SkillRefusal::FromFolder { .. } => ErrorCode::Conflict,
            SkillRefusal::AdminsOnly | SkillRefusal::NotYours(_) => ErrorCode::Forbidden,
        };
        Self::new(code, sentence(&refusal))
    }
}

impl From<ToolServerRefusal> for ApiError {
    fn from(refusal: ToolServerRefusal) -> Self {
        match &refusal {
            ToolServerRefusal::Invalid(invalid) => invalid.clone().into(),
            ToolServerRefusal::Misfit { name, .. } => Self::invalid(sentence(&refusal)).with(json!({"name": name})),
            ToolServerRefusal::HeadersWouldMove => Self::invalid(sentence(&refusal)).with(json!({"field": "headers"})),
            ToolServerRefusal::NameTaken(_) | ToolServerRefusal::Full | ToolServerRefusal::Unopenable => {
                Self::new(ErrorCode::Conflict, sentence(&refusal))
            }
            ToolServerRefusal::Vault(error) => Self::internal(error),
        }
    }
}

impl From<ResolveRefusal> for ApiError {
    fn from(refusal: ResolveRefusal) -> Self {
        Self::new(refusal.code(), sentence(&refusal))
    }
}

/// An error's words as a sentence for a person.
pub fn sentence(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), rest.as_str()))
}

#[cfg(test)]
pub mod testing;
