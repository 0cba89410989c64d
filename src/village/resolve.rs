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
mod tests {
    use hamlet_actors::vocabulary::{ModelParams, NpcId, ProviderId};
    use serde_json::Map;
    use url::Url;
    use uuid::Uuid;

    use super::*;
    use crate::village::settings::{ModelRoles, ProviderName};

    const ENV: u128 = 1;
    const FOUND: u128 = 2;
    const STORED: u128 = 3;
    const BUILT_IN: u128 = 4;

    fn id(n: u128) -> ProviderId {
        ProviderId(Uuid::from_u128(n))
    }

    fn provider(n: u128) -> Known {
        let base = Known {
            id: id(n),
            name: String::new(),
            kind: "openai-chat".into(),
            base_url: Some(Url::parse("https://api.example/v1").unwrap()),
            key: KeyState::Held("sk".into()),
            quirks: Map::new(),
            source: Source::Stored,
            default_model: None,
        };
        match n {
            ENV => Known {
                name: "Env".into(),
                source: Source::Environment,
                default_model: Some("env-model".into()),
                ..base
            },
            FOUND => Known {
                name: "Found".into(),
                source: Source::Found,
                base_url: Some(Url::parse("http://localhost:1/v1").unwrap()),
                key: KeyState::None,
                default_model: Some("found-model".into()),
                ..base
            },
            STORED => Known { name: "Stored".into(), ..base },
            _ => Known {
                name: "Rehearsal".into(),
                kind: "rehearsal".into(),
                base_url: None,
                key: KeyState::None,
                source: Source::BuiltIn,
                default_model: Some("rehearsal".into()),
                ..base
            },
        }
    }

    fn npc(provider: Option<u128>, model: Option<&str>) -> Npc {
        Npc {
            id: NpcId(Uuid::nil()),
            slug: "ada".into(),
            name: "Ada".into(),
            job_title: String::new(),
            description: String::new(),
            instructions: String::new(),
            provider_id: provider.map(id),
            model: model.map(str::to_owned),
            params: ModelParams::default(),
        }
    }

    fn set(provider: Option<u128>, model: Option<&str>) -> Settings {
        Settings {
            default_provider: provider.map(|n| ProviderName::Id(id(n))),
            default_model: model.map(str::to_owned),
            ..Settings::default()
        }
    }

    /// "Provider/model", or the code.
    fn check(npc: &Npc, settings: &Settings, known: &[Known]) -> String {
        match resolve(npc, settings, known) {
            Ok(resolved) => format!("{}/{}", resolved.provider.name, resolved.model),
            Err(refusal) => refusal.code().to_string(),
        }
    }

    #[test]
    fn what_an_npc_names_and_what_the_village_sets_make_the_choice() {
        let known = [ENV, FOUND, STORED, BUILT_IN].map(provider);
        let unset = || set(None, None);
        let stored = || set(Some(STORED), Some("m"));
        let table = [
            // names neither
            (npc(None, None), unset(), "Env/env-model"),
            (npc(None, None), set(None, Some("m")), "Env/m"),
            (npc(None, None), stored(), "Stored/m"),
            (npc(None, None), set(Some(STORED), None), "NO_MODEL"),
            (npc(None, None), set(Some(FOUND), None), "Found/found-model"),
            (npc(None, None), set(Some(99), Some("m")), "NO_PROVIDER_KEY"),
            // only a model
            (npc(None, Some("own")), unset(), "Env/own"),
            (npc(None, Some("own")), stored(), "Stored/own"),
            (npc(None, Some("own")), set(Some(STORED), None), "Stored/own"),
            // only a Provider
            (npc(Some(STORED), None), stored(), "Stored/m"),
            (npc(Some(ENV), None), unset(), "Env/env-model"),
            (npc(Some(STORED), None), unset(), "NO_MODEL"),
            (npc(Some(FOUND), None), unset(), "NO_MODEL"),
            (npc(Some(BUILT_IN), None), stored(), "Rehearsal/rehearsal"),
            (npc(Some(STORED), None), set(Some(99), Some("m")), "NO_MODEL"),
            (npc(Some(99), None), stored(), "NO_PROVIDER_KEY"),
            // both
            (npc(Some(STORED), Some("own")), unset(), "Stored/own"),
            (npc(Some(BUILT_IN), Some("own")), unset(), "Rehearsal/own"),
            (npc(Some(99), Some("own")), stored(), "NO_PROVIDER_KEY"),
        ];
        for (npc, settings, expected) in table {
            let named = (&npc.provider_id, &npc.model, &settings.default_provider, &settings.default_model);
            assert_eq!(check(&npc, &settings, &known), expected, "{named:?}");
        }
    }

    #[test]
    fn with_nothing_set_the_first_that_can_be_asked_is_the_default() {
        let keyless_env = Known { key: KeyState::None, ..provider(ENV) };
        let empty_found = Known { default_model: None, ..provider(FOUND) };
        let silent_env = Known { default_model: None, ..provider(ENV) };
        let table = [
            (vec![provider(ENV), provider(FOUND), provider(BUILT_IN)], "Env/env-model"),
            (vec![provider(BUILT_IN), provider(FOUND), provider(ENV)], "Env/env-model"),
            (vec![keyless_env.clone(), provider(FOUND), provider(BUILT_IN)], "Found/found-model"),
            (vec![keyless_env, empty_found, provider(BUILT_IN)], "Rehearsal/rehearsal"),
            (vec![provider(STORED), provider(BUILT_IN)], "Rehearsal/rehearsal"),
            // The operator named this one: it is not passed over in silence.
            (vec![silent_env, provider(FOUND), provider(BUILT_IN)], "NO_MODEL"),
        ];
        for (known, expected) in table {
            assert_eq!(check(&npc(None, None), &Settings::default(), &known), expected);
        }
    }

    fn role(provider: Option<u128>, model: &str) -> Option<RoleModel> {
        Some(RoleModel { provider_id: provider.map(id), model: model.to_owned() })
    }

    fn with_roles(base: Settings, model_roles: ModelRoles) -> Settings {
        Settings { model_roles, ..base }
    }

    #[test]
    fn the_role_main_comes_before_the_default_model_where_an_npc_names_none() {
        let known = [ENV, FOUND, STORED, BUILT_IN].map(provider);
        let main = |main| with_roles(set(Some(ENV), Some("default")), ModelRoles { main, ..ModelRoles::default() });
        let table = [
            (npc(None, None), main(role(Some(STORED), "big")), "Stored/big"),
            (npc(None, None), main(role(None, "big")), "Env/big"),
            (npc(None, None), main(role(Some(99), "big")), "NO_PROVIDER_KEY"),
            (npc(None, None), main(None), "Env/default"),
            (npc(None, Some("own")), main(role(Some(STORED), "big")), "Env/own"),
            (npc(Some(STORED), None), main(role(Some(STORED), "big")), "Stored/big"),
            (npc(Some(ENV), None), main(role(Some(STORED), "big")), "Env/default"),
            (npc(Some(ENV), None), main(role(None, "big")), "Env/big"),
            (npc(Some(FOUND), None), main(role(Some(STORED), "big")), "NO_MODEL"),
            (npc(Some(BUILT_IN), None), main(role(Some(BUILT_IN), "big")), "Rehearsal/rehearsal"),
            (npc(Some(STORED), Some("own")), main(role(Some(ENV), "big")), "Stored/own"),
        ];
        for (npc, settings, expected) in table {
            assert_eq!(check(&npc, &settings, &known), expected, "{:?} {settings:?}", npc.model);
        }
        let voice = |settings: &Settings| {
            default_voice(settings, &known).map(|(provider, model)| (provider.name.clone(), model))
        };
        assert_eq!(voice(&main(None)), Ok(("Env".into(), Some("default".into()))));
        assert_eq!(voice(&main(role(Some(STORED), "big"))), Ok(("Stored".into(), Some("big".into()))));
        assert!(voice(&main(role(Some(99), "big"))).is_err());
    }

    #[test]
    fn a_role_is_played_by_what_is_set_for_it_else_by_the_npcs_own_model_and_never_by_the_rehearsal() {
        let known = [ENV, FOUND, STORED, BUILT_IN].map(provider);
        let locked = [Known { key: KeyState::None, ..provider(STORED) }, provider(ENV), provider(BUILT_IN)];
        let play = |wanted: Role, npc: &Npc, roles: ModelRoles, known: &[Known]| {
            let settings = with_roles(set(None, None), roles);
            resolve_role(wanted, npc, &settings, known)
                .map_or_else(|| "nobody".to_owned(), |played| format!("{}/{}", played.provider.name, played.model))
        };
        let none = ModelRoles::default;
        let utility = |utility| ModelRoles { utility, ..none() };
        let subagent = |subagent| ModelRoles { subagent, ..none() };
        let main = |main| ModelRoles { main, ..none() };
        let (own, plain, rehearsing) = (npc(Some(STORED), Some("own")), npc(None, None), npc(Some(BUILT_IN), None));
        let table = [
            (Role::Main, &own, none(), "Stored/own"),
            (Role::Main, &plain, main(role(None, "big")), "Env/big"),
            (Role::Main, &rehearsing, none(), "Rehearsal/rehearsal"),
            (Role::Subagent, &own, none(), "Stored/own"),
            (Role::Subagent, &own, subagent(role(Some(FOUND), "sub")), "Found/sub"),
            (Role::Subagent, &own, utility(role(None, "small")), "Stored/own"),
            (Role::Subagent, &own, subagent(role(Some(99), "sub")), "nobody"),
            (Role::Utility, &own, none(), "Stored/own"),
            (Role::Utility, &plain, main(role(None, "big")), "Env/big"),
            (Role::Utility, &own, utility(role(None, "small")), "Env/small"),
            (Role::Utility, &own, utility(role(Some(FOUND), "small")), "Found/small"),
            (Role::Utility, &own, utility(role(Some(99), "small")), "nobody"),
            (Role::Utility, &rehearsing, none(), "nobody"),
            (Role::Utility, &rehearsing, utility(role(None, "small")), "Env/small"),
            (Role::Utility, &own, utility(role(Some(BUILT_IN), "small")), "nobody"),
        ];
        for (wanted, npc, roles, expected) in table {
            assert_eq!(play(wanted, npc, roles.clone(), &known), expected, "{wanted:?} {roles:?}");
        }
        assert_eq!(play(Role::Utility, &plain, utility(role(Some(STORED), "small")), &locked), "nobody");
        assert_eq!(play(Role::Utility, &own, none(), &locked), "nobody");
    }

    #[test]
    fn a_provider_that_cannot_be_asked_now_is_refused_with_what_is_missing() {
        let speak = |known: Known| {
            let known = [known];
            let refusal = resolve(&npc(Some(STORED), Some("m")), &Settings::default(), &known).err();
            refusal.map(|refusal| (refusal.code(), refusal.to_string()))
        };
        let refused = |text: &str| Some((ErrorCode::NoProviderKey, text.to_owned()));
        let stored = || provider(STORED);
        assert_eq!(speak(stored()), None);
        assert_eq!(
            speak(Known { key: KeyState::None, ..stored() }),
            refused("the Provider Stored has no key on this instance")
        );
        assert_eq!(
            speak(Known { key: KeyState::Unopenable, ..stored() }),
            refused(
                "the key of the Provider Stored was sealed with another key file and can't be opened: enter it again"
            )
        );
        assert_eq!(
            speak(Known { kind: "anthropic".into(), ..stored() }),
            refused("the Provider Stored is of the kind anthropic, and this build speaks openai-chat, rehearsal only")
        );
        let keyless = Map::from_iter([("keyless".to_owned(), true.into())]);
        assert_eq!(speak(Known { key: KeyState::None, quirks: keyless, ..stored() }), None);
    }

    #[test]
    fn a_default_named_from_outside_is_found_by_its_name() {
        let known = [ENV, BUILT_IN].map(provider);
        let named =
            |name: &str| Settings { default_provider: Some(ProviderName::Name(name.into())), ..Settings::default() };
        assert_eq!(check(&npc(None, None), &named("rehearsal"), &known), "Rehearsal/rehearsal");
        assert_eq!(check(&npc(None, None), &named("anthropic"), &known), "NO_PROVIDER_KEY");
    }
}
