//! The one table of all settings: what reads them, `hamlet config` and docs/settings.md are made from it.

/// One setting and every place where it can be set.
#[derive(Debug)]
pub struct Setting {
    /// The TOML key, and how it is called in messages.
    pub name: &'static str,
    pub flag: Option<&'static str>,
    /// The variable; with `_FILE` behind it, the name of a file that has the value.
    pub env: &'static str,
    pub in_file: InFile,
    /// The text that is read when nothing is set.
    pub default: Option<&'static str>,
    /// What stands in the documentation where the default is not a plain text.
    pub unset: &'static str,
    pub kind: Kind,
    /// What a value must be, to end the sentence "... is not".
    pub expects: &'static str,
    pub doc: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InFile {
    Yes,
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    /// Shown as "set" or "not set".
    Secret,
}

const PLAIN: Setting = Setting {
    name: "",
    flag: None,
    env: "",
    in_file: InFile::Yes,
    default: None,
    unset: "not set",
    kind: Kind::Plain,
    expects: "a text",
    doc: "",
};

pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "config",
        flag: Some("--config"),
        env: "HAMLET_CONFIG",
        in_file: InFile::No,
        doc: "The TOML file to read settings from.",
        ..PLAIN
    },
    Setting {
        name: "listen",
        flag: Some("--listen"),
        env: "HAMLET_LISTEN",
        default: Some("127.0.0.1:8787"),
        expects: "an address and port, like 127.0.0.1:8787 or 0.0.0.0:8787",
        doc: "The address and port to listen on; port 0 takes a free one and prints it.",
        ..PLAIN
    },
    Setting {
        name: "data",
        flag: Some("--data"),
        env: "HAMLET_DATA",
        unset: "the platform's data folder (Linux: `~/.local/share/hamlet`)",
        expects: "a folder",
        doc: "The folder of the store, the key file and the uploads.",
        ..PLAIN
    },
    Setting {
        name: "public_url",
        flag: Some("--public-url"),
        env: "HAMLET_PUBLIC_URL",
        expects: "a URL like https://chat.example.com, without a path",
        doc: "Where browsers reach the server, when that is not the listen address; with https, cookies are secure.",
        ..PLAIN
    },
    Setting {
        name: "trusted_proxies",
        flag: Some("--trusted-proxies"),
        env: "HAMLET_TRUSTED_PROXIES",
        unset: "none",
        expects: "a list of addresses or networks, like 10.0.0.0/8, 127.0.0.1",
        doc: "Reverse proxies whose X-Forwarded-For (or Forwarded) is believed.",
        ..PLAIN
    },
    Setting {
        name: "cors_origins",
        flag: Some("--cors-origins"),
        env: "HAMLET_CORS_ORIGINS",
        unset: "none",
        expects: "a list of origins, like https://app.example.com",
        doc: "Pages of other origins that may use the API as the Player who is signed in.",
        ..PLAIN
    },
    Setting {
        name: "log",
        flag: Some("--log"),
        env: "HAMLET_LOG",
        default: Some("info"),
        expects: "a filter like info or hamlet=debug,warn",
        doc: "What is logged: a level, or levels by module.",
        ..PLAIN
    },
    Setting {
        name: "log_format",
        flag: Some("--log-format"),
        env: "HAMLET_LOG_FORMAT",
        default: Some("text"),
        expects: "text or json",
        doc: "How a line of the log looks: text or json.",
        ..PLAIN
    },
    Setting {
        name: "shutdown_deadline_seconds",
        flag: Some("--shutdown-deadline-seconds"),
        env: "HAMLET_SHUTDOWN_DEADLINE_SECONDS",
        default: Some("20"),
        expects: "a number of seconds up to 3600",
        doc: "How long running turns may go on after SIGTERM before they are aborted and stored.",
        ..PLAIN
    },
    Setting {
        name: "rehearsal_tokens_per_second",
        flag: Some("--rehearsal-tokens-per-second"),
        env: "HAMLET_REHEARSAL_TOKENS_PER_SECOND",
        default: Some("40"),
        expects: "a whole number; 0 is as fast as it is read",
        doc: "How fast the embedded offline Provider speaks.",
        ..PLAIN
    },
    Setting {
        name: "secret",
        env: "HAMLET_SECRET",
        unset: "the key file in the data folder",
        kind: Kind::Secret,
        expects: "at least 16 characters",
        doc: "Seals Provider keys in the store, in place of the key file.",
        ..PLAIN
    },
    Setting {
        name: "metrics_token",
        env: "HAMLET_METRICS_TOKEN",
        unset: "not set: admins only",
        kind: Kind::Secret,
        expects: "at least 16 characters",
        doc: "Lets a scraper that sends it as `Authorization: Bearer` read `/metrics`, and nothing else.",
        ..PLAIN
    },
    Setting {
        name: "default_provider",
        env: "LLM_PROVIDER",
        unset: "the page decides",
        doc: "The Provider of NPCs that name none.",
        ..PLAIN
    },
    Setting {
        name: "default_model",
        env: "HAMLET_DEFAULT_MODEL",
        unset: "the page decides",
        doc: "The model of NPCs that name none.",
        ..PLAIN
    },
    Setting {
        name: "hop_limit",
        env: "HAMLET_HOP_LIMIT",
        unset: "the page decides (6)",
        expects: "a whole number from 0 to 1000",
        doc: "How often a turn may be handed from one NPC to another.",
        ..PLAIN
    },
    Setting {
        name: "step_limit",
        env: "HAMLET_STEP_LIMIT",
        unset: "the page decides (16)",
        expects: "a whole number from 1",
        doc: "How many Provider calls one speaker may take in a turn.",
        ..PLAIN
    },
    Setting {
        name: "window_tokens",
        env: "HAMLET_WINDOW_TOKENS",
        unset: "the page decides (60000)",
        expects: "a whole number from 1000",
        doc: "How many tokens of history go into a request, estimated at four characters a token.",
        ..PLAIN
    },
    Setting {
        name: "when_unwatched",
        env: "HAMLET_WHEN_UNWATCHED",
        unset: "the page decides (finish)",
        expects: "finish, or a number of seconds up to 86400",
        doc: "What becomes of a turn that nobody watches any more: `finish`, or abort after so many seconds.",
        ..PLAIN
    },
    Setting {
        name: "sign_up",
        env: "HAMLET_SIGN_UP",
        unset: "the page decides (invite)",
        expects: "closed, invite or open",
        doc: "Who may make an account by themselves: nobody (closed), who was invited (invite), everyone (open).",
        ..PLAIN
    },
    Setting {
        name: "titles",
        env: "HAMLET_TITLES",
        unset: "the page decides (true)",
        expects: "true or false",
        doc: "Whether a model gives a Conversation its title after the first exchange.",
        ..PLAIN
    },
    Setting {
        name: "fetch_private_addresses",
        env: "HAMLET_FETCH_PRIVATE_ADDRESSES",
        unset: "the page decides (false)",
        expects: "true or false",
        doc: "Whether NPCs that were granted `fetch_url` may read what is on this machine and its networks, too.",
        ..PLAIN
    },
];

/// Providers of the environment, under the names that other programs use too. They are never stored.
pub const PROVIDER_SETTINGS: &[Setting] = &[
    Setting { name: "openai_api_key", env: "OPENAI_API_KEY", doc: "The key for OpenAI.", ..KEY },
    Setting {
        name: "openai_base_url",
        env: "OPENAI_BASE_URL",
        in_file: InFile::No,
        unset: "OpenAI's own",
        expects: "an http or https URL",
        doc: "The address of an OpenAI-compatible server.",
        ..PLAIN
    },
    Setting { name: "anthropic_api_key", env: "ANTHROPIC_API_KEY", doc: "The key for Anthropic.", ..KEY },
    Setting { name: "gemini_api_key", env: "GEMINI_API_KEY", doc: "The key for Gemini.", ..KEY },
    Setting { name: "openrouter_api_key", env: "OPENROUTER_API_KEY", doc: "The key for OpenRouter.", ..KEY },
    Setting {
        name: "ollama_host",
        env: "OLLAMA_HOST",
        in_file: InFile::No,
        expects: "a host, host:port or URL",
        doc: "Where Ollama listens, written as Ollama itself reads it.",
        ..PLAIN
    },
];

const KEY: Setting =
    Setting { in_file: InFile::No, kind: Kind::Secret, expects: "a key without spaces or line breaks", ..PLAIN };

/// Both tables, in the order of the documentation.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(PROVIDER_SETTINGS)
}
