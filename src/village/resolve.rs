//! Which Provider and which model an NPC speaks with, or why it can't speak now. Pure: the settings and the known Providers
//! are given, and every refusal is one of a turn's gates (promise 1).

use hamlet_actors::vocabulary::{ErrorCode, Npc};

use super::{
    registry::{KINDS, KeyState, Known, REHEARSAL, Source},
    settings::{RoleModel, Settings},
};

/// A Provider that can be asked now, and the model to ask for.
#[derive(Debug, Clone)]
pub struct Resolved<'a> {
    pub provider: &'a Known,
    pub model: String,
}

/// Why an NPC can't speak now, in words that say what to set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveRefusal {
    #[error("{npc} names the Provider {provider} but no model, and the default model belongs to another Provider")]
    NoModelOfItsOwn { npc: String, provider: String },
    #[error("{npc} names no model, and the Village has no default model for {provider}")]
    NoDefaultModel { npc: String, provider: String },
    #[error("the Provider that {npc} names is no longer known here")]
    ProviderGone { npc: String },
    #[error("the default Provider, {named}, is not known here")]
    DefaultGone { named: String },
    #[error("the Provider {provider} has no key on this instance")]
    NoKey { provider: String },
    #[error("the key of the Provider {provider} was sealed with another key file and can't be opened: enter it again")]
    KeyUnopenable { provider: String },
    #[error("the Provider {provider} is of the kind {kind}, and this build speaks {} only", KINDS.join(", "))]
    KindUnspoken { provider: String, kind: String },
}

impl ResolveRefusal {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoModelOfItsOwn { .. } | Self::NoDefaultModel { .. } => ErrorCode::NoModel,
            Self::ProviderGone { .. }
            | Self::DefaultGone { .. }
            | Self::NoKey { .. }
            | Self::KeyUnopenable { .. }
            | Self::KindUnspoken { .. } => ErrorCode::NoProviderKey,
        }
    }
}

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// To be the NPC.
    Main,
    /// To do a piece of its work without its history.
    Subagent,
    /// To make titles and summaries, in no particular voice.
    Utility,
}

/// The model that plays a role for this NPC. What is set for the role comes first, and nothing comes in its place when it
/// can't be asked: whoever set it may have had a reason to ask nobody else. What is not set falls to the NPC's own. The
/// rehearsal never does utility work: its script is about itself.
pub fn resolve_role<'a>(role: Role, npc: &Npc, settings: &Settings, known: &'a [Known]) -> Option<Resolved<'a>> {
    let own = || resolve(npc, settings, known).ok();
    let of_role = |set: Option<&RoleModel>| match set {
        Some(set) => named(set, settings, known).ok(),
        None => own(),
    };
    match role {
        Role::Main => own(),
        Role::Subagent => of_role(settings.model_roles.subagent.as_ref()),
        Role::Utility => {
            of_role(settings.model_roles.utility.as_ref()).filter(|resolved| resolved.provider.kind != REHEARSAL)
        }
    }
}

/// What the settings name for a role.
fn named<'a>(role: &RoleModel, settings: &Settings, known: &'a [Known]) -> Result<Resolved<'a>, ResolveRefusal> {
    let provider = of_role(role, settings, known)?;
    ready(provider)?;
    Ok(Resolved { provider, model: role.model.clone() })
}

fn of_role<'a>(role: &RoleModel, settings: &Settings, known: &'a [Known]) -> Result<&'a Known, ResolveRefusal> {
    match role.provider_id {
        Some(id) => known
            .iter()
            .find(|known| known.id == id)
            .ok_or_else(|| ResolveRefusal::DefaultGone { named: id.to_string() }),
        None => default_provider(settings, known),
    }
}

/// An NPC that names neither takes the model of the role `main`, else both defaults; one that names only a model takes the
/// default Provider; one that names only a Provider has a model when that is the one of the role `main`, or the default
/// Provider, or the rehearsal, which has but one.
pub fn resolve<'a>(npc: &Npc, settings: &Settings, known: &'a [Known]) -> Result<Resolved<'a>, ResolveRefusal> {
    let main = settings.model_roles.main.as_ref();
    if let (Some(main), None, None) = (main, npc.provider_id, &npc.model) {
        return named(main, settings, known);
    }
    let provider = match npc.provider_id {
        Some(id) => {
            let named = known.iter().find(|known| known.id == id);
            named.ok_or_else(|| ResolveRefusal::ProviderGone { npc: npc.name.clone() })?
        }
        None => default_provider(settings, known)?,
    };
    let model = match &npc.model {
        Some(model) => model.clone(),
        None => model_of(npc, provider, settings, known)?,
    };
    ready(provider)?;
    Ok(Resolved { provider, model })
}

/// Who speaks for an NPC that names neither Provider nor model, and with which model.
pub fn default_voice<'a>(
    settings: &Settings,
    known: &'a [Known],
) -> Result<(&'a Known, Option<String>), ResolveRefusal> {
    match &settings.model_roles.main {
        Some(main) => Ok((of_role(main, settings, known)?, Some(main.model.clone()))),
        None => default_provider(settings, known).map(|default| (default, default_model(settings, default))),
    }
}

/// The Provider that is set, else the first of the environment that can be asked, else the first found that has a model,
/// else the rehearsal.
pub fn default_provider<'a>(settings: &Settings, known: &'a [Known]) -> Result<&'a Known, ResolveRefusal> {
    if let Some(named) = &settings.default_provider {
        let meant = known.iter().find(|known| named.means(known.id, &known.name));
        return meant.ok_or_else(|| ResolveRefusal::DefaultGone { named: named.to_string() });
    }
    let first = |source: Source| {
        known.iter().find(|known| {
            known.source == source && known.is_ready() && (source != Source::Found || known.default_model.is_some())
        })
    };
    [Source::Environment, Source::Found, Source::BuiltIn]
        .into_iter()
        .find_map(first)
        .ok_or_else(|| ResolveRefusal::DefaultGone { named: REHEARSAL.to_owned() })
}

/// The model that is set, else the default Provider's own.
pub fn default_model(settings: &Settings, default: &Known) -> Option<String> {
    settings.default_model.clone().or_else(|| default.default_model.clone())
}

fn model_of(npc: &Npc, provider: &Known, settings: &Settings, known: &[Known]) -> Result<String, ResolveRefusal> {
    if provider.kind == REHEARSAL {
        return Ok(REHEARSAL.to_owned());
    }
    if let Some(main) = &settings.model_roles.main
        && of_role(main, settings, known).is_ok_and(|named| named.id == provider.id)
    {
        return Ok(main.model.clone());
    }
    let names = || (npc.name.clone(), provider.name.clone());
    // A default that is gone is somebody else's here: this NPC names its own Provider.
    if !default_provider(settings, known).is_ok_and(|default| default.id == provider.id) {
        let (npc, provider) = names();
        return Err(ResolveRefusal::NoModelOfItsOwn { npc, provider });
    }
    default_model(settings, provider).ok_or_else(|| {
        let (npc, provider) = names();
        ResolveRefusal::NoDefaultModel { npc, provider }
    })
}

fn ready(provider: &Known) -> Result<(), ResolveRefusal> {
    let name = || provider.name.clone();
    if !provider.speaks_here() {
        return Err(ResolveRefusal::KindUnspoken { provider: name(), kind: provider.kind.clone() });
    }
    match provider.key {
        KeyState::Unopenable => Err(ResolveRefusal::KeyUnopenable { provider: name() }),
        KeyState::None if provider.needs_key() => Err(ResolveRefusal::NoKey { provider: name() }),
        KeyState::None | KeyState::Held(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
