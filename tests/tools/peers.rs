//! Tool servers that other people wrote, as `tests/run` installs them.

use std::{path::PathBuf, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    process::{Child, Command},
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/peers")
}

/// A program of the peers.
///
/// # Panics
/// With what to run, when they are not installed.
fn program(path: &str) -> PathBuf {
    let program = folder().join(path);
    assert!(program.exists(), "{} is missing; run `tests/run peers` once, which installs it", program.display());
    program
}

/// A server of the npm packages, over stdio.
pub fn npm(name: &str, server: &str, args: &[&str], env: Value) -> Value {
    let program = program(&format!("node_modules/.bin/mcp-server-{server}"));
    let args: Vec<String> =
        [program.to_string_lossy().into_owned()].into_iter().chain(args.iter().map(|arg| (*arg).to_owned())).collect();
    json!({"name": name, "command": "node", "args": args, "env": env})
}

/// The Python server of the time, over stdio.
pub fn time(name: &str) -> Value {
    let program = program(".venv/bin/mcp-server-time");
    json!({"name": name, "command": program, "args": ["--local-timezone", "UTC"]})
}

/// The server of everything, over HTTP; it ends with this value.
pub struct Everything {
    pub url: String,
    port: u16,
    child: Child,
}

impl Everything {
    pub async fn start() -> Self {
        // Free a moment ago: the server takes no port 0.
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        Self { url: format!("http://127.0.0.1:{port}/mcp"), port, child: listening(port).await }
    }

    /// Killed, and started again on the same port: it knows none of its sessions any more.
    pub async fn restart(&mut self) {
        self.child.kill().await.unwrap();
        self.child = listening(self.port).await;
    }
}

async fn listening(port: u16) -> Child {
    let child = Command::new("node")
        .arg(program("node_modules/.bin/mcp-server-everything"))
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    for _ in 0..500 {
        if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            return child;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the server of everything does not listen");
}
