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

/// A server over HTTP; it ends with this value.
pub struct Listening {
    pub url: String,
    port: u16,
    /// Starts it on a port.
    starts: Box<dyn Fn(u16) -> Command + Send>,
    child: Child,
}

impl Listening {
    /// The server of everything.
    pub async fn everything() -> Self {
        let starts = |port: u16| {
            let mut command = Command::new("node");
            command.arg(program("node_modules/.bin/mcp-server-everything")).arg("streamableHttp");
            command.env("PORT", port.to_string());
            command
        };
        Self::by(Box::new(starts)).await
    }

    /// A server made with the SDK for Python, with these options of its HTTP transport.
    pub async fn python(options: &'static str) -> Self {
        let starts = move |port: u16| {
            let script = format!(
                "from mcp.server.mcpserver import MCPServer\n\
                 server = MCPServer('adder')\n\
                 @server.tool()\n\
                 def add(a: int, b: int | None = None) -> int:\n  return a + (b or 0)\n\
                 server.run('streamable-http', port={port}, {options})"
            );
            let mut command = Command::new(program(".venv/bin/python"));
            command.args(["-c", &script]);
            command
        };
        Self::by(Box::new(starts)).await
    }

    async fn by(starts: Box<dyn Fn(u16) -> Command + Send>) -> Self {
        // Free a moment ago: the servers take no port 0.
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let child = listening(starts(port), port).await;
        Self { url: format!("http://127.0.0.1:{port}/mcp"), port, starts, child }
    }

    /// Killed, and started again on the same port: it knows none of its sessions any more.
    pub async fn restart(&mut self) {
        self.child.kill().await.unwrap();
        self.child = listening((self.starts)(self.port), self.port).await;
    }
}

async fn listening(mut command: Command, port: u16) -> Child {
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    for _ in 0..500 {
        if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            return child;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{command:?} does not listen");
}
