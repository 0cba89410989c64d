//! What can be written on the command line. The flags of settings are texts here; `config` reads and checks them
//! together with the other places.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::{auth::PlayerRole, config::Flags};

/// A self-hosted village whose inhabitants answer back.
#[derive(Debug, Parser)]
#[command(
    name = "hamlet",
    version,
    after_help = "Without a command the server is started. Every setting: docs/settings.md"
)]
pub struct Cli {
    #[command(flatten)]
    pub(super) flags: SettingFlags,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, Clone, Default, Args)]
pub struct SettingFlags {
    /// The TOML file to read settings from
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<String>,
    /// The address and port to listen on [default: 127.0.0.1:8787]
    #[arg(long, global = true, value_name = "ADDR")]
    listen: Option<String>,
    /// The folder of the store, the key file and the uploads
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<String>,
    /// Where browsers reach the server, when that is not the listen address
    #[arg(long, global = true, value_name = "URL")]
    public_url: Option<String>,
    /// Reverse proxies whose X-Forwarded-For is believed, with commas
    #[arg(long, global = true, value_name = "NETS")]
    trusted_proxies: Option<String>,
    /// Pages of other origins that may use the API, with commas
    #[arg(long, global = true, value_name = "ORIGINS")]
    cors_origins: Option<String>,
    /// What is logged [default: info]
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
    /// text or json [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    log_format: Option<String>,
    /// How long running turns may go on after SIGTERM [default: 20]
    #[arg(long, global = true, value_name = "SECONDS")]
    shutdown_deadline_seconds: Option<String>,
    /// How fast the embedded offline Provider speaks [default: 40]
    #[arg(long, global = true, value_name = "N")]
    rehearsal_tokens_per_second: Option<String>,
}

impl SettingFlags {
    pub fn to_config(&self) -> Flags {
        let given = [
            ("config", &self.config),
            ("listen", &self.listen),
            ("data", &self.data),
            ("public_url", &self.public_url),
            ("trusted_proxies", &self.trusted_proxies),
            ("cors_origins", &self.cors_origins),
            ("log", &self.log),
            ("log_format", &self.log_format),
            ("shutdown_deadline_seconds", &self.shutdown_deadline_seconds),
            ("rehearsal_tokens_per_second", &self.rehearsal_tokens_per_second),
        ];
        Flags(given.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))).collect())
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the server (what happens without a command, too)
    Serve,
    /// Print a new API token for `Authorization: Bearer`; makes the Player when there is none of that name
    Token(TokenArgs),
    /// Print a link that signs a Player in once, within 15 minutes
    LoginLink {
        #[arg(long)]
        player: String,
    },
    /// Add, list and change Players
    #[command(subcommand)]
    User(UserCommand),
    /// Print every setting with its value and where it came from
    Config,
    /// Check the data folder, the store, the port and the Providers
    Doctor,
    /// Ask the running server whether it is well: the exit code tells
    Healthcheck,
    /// Write the store, the key file and the uploads into one file, while the server runs
    Backup {
        file: PathBuf,
        /// Leave out the key file and the sealed Provider keys
        #[arg(long)]
        without_secrets: bool,
    },
    /// Read a backup into the data folder, while no server runs
    Restore {
        file: PathBuf,
        /// Move a store that is there aside
        #[arg(long)]
        force: bool,
    },
}

#[derive(Debug, Args)]
pub struct TokenArgs {
    #[arg(long)]
    pub player: String,
    /// The role of a new Player [default: player]
    #[arg(long, value_parser = role)]
    pub role: Option<PlayerRole>,
    /// What the token is called in the Player's list
    #[arg(long, default_value = "command line")]
    pub name: String,
}

#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Make a Player, who enters by `hamlet login-link` until a password is set
    Add {
        name: String,
        #[arg(long, default_value = "player", value_parser = role)]
        role: PlayerRole,
        /// Ask for a password (read from stdin when that is no terminal)
        #[arg(long)]
        password: bool,
    },
    List,
    /// Set a password (read from stdin when that is no terminal); ends the Player's sessions
    Passwd {
        name: String,
    },
    /// Make a Player an admin, or an admin a Player
    Role {
        name: String,
        #[arg(value_parser = role)]
        role: PlayerRole,
    },
    /// Keep a Player out; sessions and links end, Conversations stay
    Disable {
        name: String,
    },
    Enable {
        name: String,
    },
    /// Delete a Player who owns no Conversation
    Delete {
        name: String,
    },
}

fn role(text: &str) -> Result<PlayerRole, crate::auth::UnknownRole> {
    text.parse()
}
