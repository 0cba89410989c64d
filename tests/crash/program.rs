//! The release binary as a process: started on a folder and a free port, killed, asked to stop.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, SystemTime},
};

use hamlet_test_support::Client;
use reqwest::{Method, StatusCode, header};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::{
    house::{House, MODEL},
    patience::within_patience,
};

/// Where one Village lives from start to start. When its test fails, the folder stays.
pub struct Home {
    binary: PathBuf,
    folder: Option<TempDir>,
    house: String,
    /// Seconds that running turns have after SIGTERM.
    deadline: u32,
}

impl Home {
    pub fn new(house: &House, deadline: u32) -> Self {
        Self::asking(house.base_url(), deadline)
    }

    /// A Village whose only Provider is there.
    pub fn asking(house: String, deadline: u32) -> Self {
        Self { binary: binary(), folder: Some(tempfile::tempdir().unwrap()), house, deadline }
    }

    pub fn store(&self) -> PathBuf {
        self.folder().join("hamlet.db")
    }

    /// What all its processes have logged as an error.
    pub fn errors(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder().join("log")).unwrap();
        log.lines().filter(|line| line.contains(" ERROR ")).map(str::to_owned).collect()
    }

    fn folder(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    fn spawn(&self) -> Child {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.folder().join("log")).unwrap();
        // Nothing of the surroundings may choose another Provider.
        Command::new(&self.binary)
            .args(["--listen", "127.0.0.1:0", "--shutdown-deadline-seconds", &self.deadline.to_string(), "--data"])
            .arg(self.folder())
            .env_clear()
            .envs([
                ("OPENAI_BASE_URL", self.house.as_str()),
                ("OPENAI_API_KEY", "sk-house"),
                ("HAMLET_DEFAULT_MODEL", MODEL),
                // The house answers what it is told, and nothing else.
                ("HAMLET_TITLES", "false"),
                ("HAMLET_FETCH_PRIVATE_ADDRESSES", "true"),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }

    pub async fn start(&self) -> Program {
        let mut child = self.spawn();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let (mut address, mut link) = (None, None);
        let listening = async {
            while let Some(line) = said.next_line().await.unwrap() {
                let url = line.split_once("http://").map(|(_, url)| url.to_owned());
                match line.split_once(' ').map(|(first, _)| first) {
                    Some("Hamlet") => address = url.and_then(|url| url.parse().ok()),
                    Some("Sign") => link = url.and_then(|url| Some(url.split_once("token=")?.1.to_owned())),
                    Some("Everything") => break,
                    _ => {}
                }
            }
        };
        within_patience("Hamlet's start", listening).await;
        let address =
            address.unwrap_or_else(|| panic!("Hamlet did not start; {:?} says why", self.folder().join("log")));
        Program { address, link, child, _said: said }
    }

    /// Starts it and kills it before it can have come far.
    pub async fn start_and_kill(&self, after: Duration) {
        let mut child = self.spawn();
        tokio::task::spawn_blocking(move || std::thread::sleep(after)).await.unwrap();
        child.kill().await.unwrap();
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(folder) = self.folder.take()
        {
            eprintln!("the Village's folder stays: {}", folder.keep().display());
        }
    }
}

pub struct Program {
    pub address: SocketAddr,
    /// Signs the admin in once.
    link: Option<String>,
    child: Child,
    /// The program must be able to go on speaking.
    _said: Lines<BufReader<ChildStdout>>,
}

impl Program {
    /// The admin of a Village that nobody has entered before.
    pub async fn admin(&self) -> Client {
        let mut client = Client::new(self.address);
        let path = format!("/sign-in?token={}", self.link.as_ref().unwrap());
        let response = client.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap().split(';').next();
        client.cookie = cookie.map(str::to_owned);
        client
    }

    /// SIGKILL; answers when nothing is left of the process.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// SIGTERM.
    pub fn terminate(&self) {
        kill_process(self.pid(), Signal::TERM).unwrap();
    }

    /// Of a process that has not been waited for yet.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().unwrap().try_into().unwrap()).unwrap()
    }

    /// The exit code of a process that ends by itself; None when a signal ended it.
    pub async fn ended(mut self) -> Option<i32> {
        within_patience("Hamlet's end", self.child.wait()).await.unwrap().code()
    }
}

/// The one of `HAMLET_RELEASE_BIN`, else the one beside this test's own build.
fn binary() -> PathBuf {
    const HOW: &str = "build it with `cargo build --release --bin hamlet`, or name one in HAMLET_RELEASE_BIN";
    if let Some(named) = std::env::var_os("HAMLET_RELEASE_BIN") {
        let named = PathBuf::from(named);
        assert!(named.is_file(), "HAMLET_RELEASE_BIN names {}, and there is no such file", named.display());
        return fs::canonicalize(named).unwrap();
    }
    let test = std::env::current_exe().unwrap();
    let beside = test.ancestors().nth(3).unwrap().join("release/hamlet");
    assert!(beside.is_file(), "the crash suite needs the release binary: {HOW}");
    let (newest, file) = newest_source();
    let built = fs::metadata(&beside).unwrap().modified().unwrap();
    assert!(newest <= built, "{} is older than {}: {HOW}", beside.display(), file.display());
    beside
}

/// A binary that is older than this would say nothing about the code as it is.
fn newest_source() -> (SystemTime, PathBuf) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut waiting: Vec<PathBuf> =
        ["Cargo.lock", "schema.sql", "src", "actors/src"].map(|name| root.join(name)).into();
    let mut newest = (SystemTime::UNIX_EPOCH, root.to_owned());
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            newest = newest.max((fs::metadata(&path).unwrap().modified().unwrap(), path));
        }
    }
    newest
}
