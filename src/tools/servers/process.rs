//! A tool server as a child process: a group of its own, an environment of what was configured and little more, and an
//! end that leaves nothing of it behind.

use std::{collections::BTreeMap, io, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStdin, ChildStdout, Command},
};
use tokio_util::task::AbortOnDropHandle;

use super::words::Hidden;

/// What every program needs to find itself and others.
const INHERITED: [&str; 3] = ["PATH", "HOME", "LANG"];
/// Bytes of its stderr that one process may write into the log, and of one line.
const STDERR_MAX: usize = 64 * 1024;
const STDERR_LINE: usize = 1_000;
/// After its stdin was closed, and after it was asked to end.
const PATIENCE: Duration = Duration::from_millis(600);

/// A running child. Dropping it kills its whole group.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: Option<Pid>,
    /// Reads stderr, so that the child never waits for a full pipe.
    _stderr: Option<AbortOnDropHandle<()>>,
}

impl Process {
    /// # Errors
    /// When there is no such program, or it can't be run.
    pub fn start(
        server: &str,
        command: &str,
        args: &[String],
        cwd: Option<&str>,
        env: &BTreeMap<String, String>,
        hidden: Hidden,
    ) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let mut building = Command::new(command);
        building.args(args).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                building.env(name, value);
            }
        }
        building.envs(env);
        if let Some(cwd) = cwd {
            building.current_dir(cwd);
        }
        #[cfg(unix)]
        building.process_group(0);
        let mut child = building.kill_on_drop(true).spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let server = server.to_owned();
        let stderr = stderr.map(|stderr| AbortOnDropHandle::new(tokio::spawn(log(server, stderr, hidden))));
        let process = Self { child, group, _stderr: stderr };
        match (stdout, stdin) {
            (Some(stdout), Some(stdin)) => Ok((process, stdout, stdin)),
            _ => Err(io::Error::other("the child has no standard streams")),
        }
    }

    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits for the child, whose stdin is closed; then asks it to end, then ends it with all that it started.
    pub async fn end(mut self) {
        if !self.gone().await {
            self.signal(Signal::TERM);
            self.gone().await;
        }
        self.signal(Signal::KILL);
        if let Err(error) = self.child.wait().await {
            tracing::debug!(%error, "a tool server's process can't be waited for");
        }
        self.group = None;
    }

    async fn gone(&mut self) -> bool {
        tokio::time::timeout(PATIENCE, self.child.wait()).await.is_ok()
    }

    fn signal(&self, signal: Signal) {
        let Some(group) = self.group else { return };
        match kill_process_group(group, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => tracing::debug!(%error, "a tool server's processes can't be signalled"),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Reads to the end, logs up to the limit.
async fn log(server: String, mut stderr: impl AsyncRead + Unpin, hidden: Hidden) {
    let (mut buffer, mut line, mut logged) = ([0; 4_096], Vec::new(), 0);
    loop {
        let read = match stderr.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(read) => read,
        };
        if logged >= STDERR_MAX {
            continue;
        }
        for byte in &buffer[..read] {
            if *byte != b'\n' {
                if line.len() < STDERR_LINE {
                    line.push(*byte);
                }
                continue;
            }
            logged += line.len() + 1;
            tell(&server, &line, &hidden);
            line.clear();
        }
        if logged >= STDERR_MAX {
            tracing::debug!(server, "the rest of what the tool server writes to stderr is not logged");
        }
    }
    tell(&server, &line, &hidden);
}

fn tell(server: &str, line: &[u8], hidden: &Hidden) {
    if !line.is_empty() {
        tracing::debug!(server, stderr = hidden.cover(&String::from_utf8_lossy(line)), "a tool server writes");
    }
}
