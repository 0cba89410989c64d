//! The real program on a disk that takes nothing more: the system refuses each write to a file, as it does when a quota is
//! used up. Commits fail within SQLite, at the moment of COMMIT.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use hamlet_test_support::{Client, Events};
use reqwest::{Method, StatusCode, header};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

struct Program {
    child: Child,
    admin: Client,
    folder: tempfile::TempDir,
}

impl Program {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // A write beyond the limit is to fail, not to end the process.
        let mut child = Command::new("sh")
            .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_hamlet"), "--listen", "127.0.0.1:0"])
            .arg("--data")
            .arg(folder.path())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // The log is on the same disk.
            .stderr(File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let reading = tokio::task::spawn_blocking(move || {
            let (mut address, mut link) = (None, None);
            for line in said.lines().map(Result::unwrap) {
                let url = line.split_once("http://").map(|(_, url)| url.to_owned());
                match line.split_once(' ').map(|(first, _)| first) {
                    Some("Hamlet") => address = url.and_then(|url| url.parse().ok()),
                    Some("Sign") => link = url.and_then(|url| Some(url.split_once("token=")?.1.to_owned())),
                    Some("Everything") => break,
                    _ => {}
                }
            }
            (address.unwrap(), link.unwrap())
        });
        let (address, link) = reading.await.unwrap();
        let mut admin = Client::new(address);
        let response = admin.request(Method::GET, &format!("/sign-in?token={link}")).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap().split(';').next();
        admin.cookie = cookie.map(str::to_owned);
        Self { child, admin, folder }
    }

    /// How long a file may become.
    fn room(&self, bytes: Option<u64>) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        prlimit(Some(pid), Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
    }

    async fn conversation(&self) -> String {
        let npcs = self.admin.get("/api/npcs").await.expect(StatusCode::OK).await;
        let made = self.admin.post("/api/conversations", json!({"npcIds": [npcs["items"][0]["id"]]})).await;
        made.expect(StatusCode::CREATED).await["id"].as_str().unwrap().to_owned()
    }

    async fn messages(&self, id: &str) -> Vec<Value> {
        let page = self.admin.get(&format!("/api/conversations/{id}/messages")).await.expect(StatusCode::OK).await;
        page["items"].as_array().unwrap().clone()
    }

    async fn ready(&self, status: StatusCode) {
        let looking = async {
            while self.admin.get("/readyz").await.0.status() != status {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), looking).await.unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[tokio::test]
async fn a_disk_that_takes_nothing_more_loses_nothing_and_is_told() {
    let program = Program::start().await;
    let id = program.conversation().await;
    let idle = program.conversation().await;
    let [path, elsewhere] = [&id, &idle].map(|id| format!("/api/conversations/{id}/messages"));
    // The rehearsal speaks slowly enough to be cut in the middle.
    let mut stream: Events = program.admin.stream(&path, json!({"text": "Tell me a long story, please."})).await;
    assert!(stream.until(|events| events.last_text().len() > 10).await);
    program.room(Some(0));
    program.ready(StatusCode::SERVICE_UNAVAILABLE).await;
    let shown = program.messages(&id).await;
    assert_eq!(shown[1]["status"], "running", "its end is not stored yet");
    let other = program.admin.post("/api/conversations", json!({"npcIds": []})).await;
    assert_eq!(other.refused(StatusCode::SERVICE_UNAVAILABLE).await, "STORE_UNAVAILABLE");
    let refused = program.admin.post(&elsewhere, json!({"text": "Are you there?"})).await;
    assert_eq!(refused.refused(StatusCode::SERVICE_UNAVAILABLE).await, "STORE_UNAVAILABLE");
    program.room(None);
    program.ready(StatusCode::OK).await;
    let stopped = program.admin.post(&format!("/api/conversations/{id}/abort"), json!({})).await;
    assert_eq!(stopped.expect(StatusCode::OK).await["aborted"], true);
    stream.to_end().await;
    assert_eq!(stream.terminal_frames(), 1);
    let stored = program.messages(&id).await;
    assert_eq!((stored.len(), &stored[1]["status"]), (2, &json!("aborted")));
    assert_eq!(stored[1]["text"], json!(stream.last_text()));
    assert_eq!(program.messages(&idle).await, Vec::<Value>::new(), "nothing of what was refused");
    let mut next = program.admin.stream(&path, json!({"text": "And now?"})).await;
    assert!(next.until(|events| events.last_text().len() > 10).await);
    let conn = rusqlite::Connection::open(program.folder.path().join("hamlet.db")).unwrap();
    let verdict: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
}
