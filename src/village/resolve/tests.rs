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
        ENV => {
            Known { name: "Env".into(), source: Source::Environment, default_model: Some("env-model".into()), ..base }
        }
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
    let voice =
        |settings: &Settings| default_voice(settings, &known).map(|(provider, model)| (provider.name.clone(), model));
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
        refused("the key of the Provider Stored was sealed with another key file and can't be opened: enter it again")
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
