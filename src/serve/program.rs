//! The server as a program: configuration to setup, the first screen, logs, signals.

use std::{
    io::{self, IsTerminal},
    sync::Arc,
};

use hamlet_actors::village::Upkeep;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::{ServeError, Server, Setup};
use crate::{
    app::RealProviders,
    auth::AccountsOptions,
    config::{Config, LogFormat, Pinned, ProviderEnv, VillagePins, data_folder::DataFolderError},
    gates::origin::{Origin, OriginRules},
    providers::{Clients, Limits, discovery},
    store,
    vault::{Vault, VaultError},
    village::{
        VillageState,
        registry::{EnvironmentProviders, Found, REHEARSAL},
        resolve::default_voice,
        settings::{Pins, Setting},
        text::Invalid,
    },
};

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Folder(#[from] DataFolderError),
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error("a setting from outside does not fit: {0}")]
    Pin(#[from] Invalid),
    #[error("TLS can't be set up: {0}")]
    Tls(#[from] reqwest::Error),
    #[error("the runtime can't be started: {0}")]
    Runtime(#[from] io::Error),
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// Runs the server until SIGTERM or SIGINT.
///
/// # Errors
/// Whatever keeps it from starting, in one sentence.
pub fn blocking(config: Config) -> Result<(), StartError> {
    log(&config);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(config))
}

async fn run(config: Config) -> Result<(), StartError> {
    // A second server must not make a second key file, so the folder is locked before anything else.
    config.data.create()?;
    let _lock = config.data.lock()?;
    // Before anything is written beside it: a file of another program is left as it is.
    store::inspect(&config.data.store()).map_err(ServeError::from)?;
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::debug!("a TLS provider was installed already");
    }
    let limits = Limits { rehearsal_pace: config.rehearsal_tokens_per_second, ..Limits::default() };
    let clients = Clients::new(limits)?;
    let vault = match &config.secret {
        Some(secret) => Vault::from_secret(secret)?,
        None => Vault::from_data_folder(config.data.path())?,
    };
    let setup = Setup {
        data: config.data.path().to_owned(),
        listen: config.listen,
        rules: OriginRules {
            public: config.public_url.as_ref().and_then(Origin::of),
            cors: config.cors_origins.clone(),
            trusted_proxies: config.trusted_proxies.clone(),
        },
        accounts: AccountsOptions {
            public_url: config.public_url.clone(),
            trusted_proxies: config.trusted_proxies.clone(),
            sign_up: config.village.sign_up.as_ref().map(|pinned| pinned.value),
        },
        vault,
        environment: environment(&config.providers),
        found: found(&clients, &config.providers).await,
        pins: pins(&config.village)?,
        providers: Arc::new(RealProviders(clients)),
        journal: Box::new(|store| Arc::new(store)),
        upkeep: Upkeep::default(),
        metrics_token: config.metrics_token.clone(),
        deadline: config.shutdown_deadline,
    };
    let server = Server::start(setup).await?;
    greet(&config, &server).await?;
    let stop = CancellationToken::new();
    let signals = tokio::spawn(stop_on_signal(stop.clone()));
    server.run(stop).await;
    signals.abort();
    Ok(())
}

/// The first signal stops; a second one stops at once.
async fn stop_on_signal(stop: CancellationToken) {
    let (Ok(mut term), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        tracing::error!("signals can't be heard; stop this process by killing it: nothing that was shown is lost");
        return;
    };
    for _ in 0..2 {
        tokio::select! {
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
        }
        if stop.is_cancelled() {
            tracing::warn!("stopped at once");
            std::process::exit(130);
        }
        stop.cancel();
    }
}

fn environment(given: &ProviderEnv) -> EnvironmentProviders {
    EnvironmentProviders {
        openai_api_key: given.openai_api_key.clone(),
        openai_base_url: given.openai_base_url.clone(),
        openrouter_api_key: given.openrouter_api_key.clone(),
        ollama_url: given.ollama_host.as_ref().and_then(|host| discovery::ollama_url(host.as_str())),
    }
}

/// Model servers on this machine, and what the one behind OPENAI_BASE_URL offers.
async fn found(clients: &Clients, given: &ProviderEnv) -> Vec<Found> {
    let named = given.openai_base_url.clone().filter(|_| given.openai_api_key.is_none());
    let ollama = given.ollama_host.as_ref().map(|host| host.as_str().to_owned());
    let (named, found) =
        tokio::join!(discovery::look(clients, "OpenAI", named), discovery::discover(clients, ollama.as_deref()),);
    named
        .into_iter()
        .chain(found)
        .map(|found| Found { name: found.name.to_owned(), base_url: found.base_url, model: found.model })
        .collect()
}

fn pins(given: &VillagePins) -> Result<Pins, Invalid> {
    fn pin<T>(
        pins: &mut Pins,
        setting: Setting,
        pinned: Option<&Pinned<T>>,
        value: impl Fn(&T) -> Value,
    ) -> Result<(), Invalid> {
        match pinned {
            Some(pinned) => pins.pin(setting, value(&pinned.value), pinned.source.to_string()),
            None => Ok(()),
        }
    }
    let mut pins = Pins::default();
    pin(&mut pins, Setting::DefaultProviderId, given.default_provider.as_ref(), |name| json!(name))?;
    pin(&mut pins, Setting::DefaultModel, given.default_model.as_ref(), |name| json!(name))?;
    pin(&mut pins, Setting::HopLimit, given.hop_limit.as_ref(), |limit| json!(limit))?;
    pin(&mut pins, Setting::StepLimit, given.step_limit.as_ref(), |limit| json!(limit))?;
    pin(&mut pins, Setting::WindowTokens, given.window_tokens.as_ref(), |tokens| json!(tokens))?;
    pin(&mut pins, Setting::WhenUnwatched, given.when_unwatched.as_ref(), |when| match when {
        hamlet_actors::turn::WhenUnwatched::Finish => json!({"finish": true}),
        hamlet_actors::turn::WhenUnwatched::AbortAfter(delay) => json!({"abortAfterSeconds": delay.as_secs()}),
    })?;
    pin(&mut pins, Setting::SignUp, given.sign_up.as_ref(), |policy| json!(policy))?;
    pin(&mut pins, Setting::Titles, given.titles.as_ref(), |on| json!(on))?;
    pin(&mut pins, Setting::FetchPrivateAddresses, given.fetch_private_addresses.as_ref(), |may| json!(may))?;
    Ok(pins)
}

/// What the terminal says: where the page is, the way in, who answers, and how to change that.
#[expect(clippy::print_stdout, reason = "the first screen of the program")]
async fn greet(config: &Config, server: &Server) -> Result<(), ServeError> {
    let page = config.page_url(server.address);
    println!("Hamlet {} is at {page}", env!("CARGO_PKG_VERSION"));
    match &server.first_link {
        Some(link) => println!("Sign in once with this link, within a day: {page}/sign-in?token={}", link.text()),
        None => println!("A new link to sign in with: hamlet login-link --player NAME"),
    }
    println!("{}", who_answers(&server.app.village).await?);
    let unheard = [
        ("ANTHROPIC_API_KEY", config.providers.anthropic_api_key.is_some()),
        ("GEMINI_API_KEY", config.providers.gemini_api_key.is_some()),
    ];
    for (name, _) in unheard.into_iter().filter(|(_, set)| *set) {
        println!("{name} is set, but this build speaks OpenAI's chat completions only: nothing uses that key.");
    }
    println!("Everything is stored in {}", config.data.path().display());
    Ok(())
}

async fn who_answers(village: &VillageState) -> Result<String, ServeError> {
    let (settings, known) = village.choices().await?;
    let Ok((provider, model)) = default_voice(&settings, &known) else {
        return Ok("The default Provider of the settings is not known here: NPCs can't answer until that is changed."
            .to_owned());
    };
    if provider.kind == REHEARSAL {
        return Ok("The embedded rehearsal answers: offline, and no language model. To hear a real one, set OPENAI_API_KEY (and \
                   OPENAI_BASE_URL for a compatible server), start Ollama or LM Studio before Hamlet, or add a Provider on \
                   the page."
            .to_owned());
    }
    let model = model.unwrap_or_else(|| "no model yet: set one on the page".to_owned());
    Ok(format!("{} answers ({model}).", provider.name))
}

/// Logs go to stderr; what the program tells its user goes to stdout.
fn log(config: &Config) {
    // ractor tells of each actor's life at info; rmcp writes addresses with their keys, and what matters is told here.
    let filter =
        EnvFilter::try_new(format!("ractor=warn,rmcp=off,{}", config.log)).unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::stderr().is_terminal())
        // A line that can't be written is lost: telling of that on the same stderr would panic in whoever logs.
        .log_internal_errors(false)
        .with_writer(io::stderr);
    let installed = match config.log_format {
        LogFormat::Text => subscriber.try_init(),
        LogFormat::Json => subscriber.json().flatten_event(true).try_init(),
    };
    if let Err(error) = installed {
        tracing::debug!(%error, "a log is kept already");
    }
}
