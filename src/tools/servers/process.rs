//! A tool server as a child process: a group of its own, an environment of what was configured and little more, and an
//! end that leaves nothing of it behind.

use std::{collections::BTreeMap, io, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio_util::task::AbortOnDropHandle;

use super::said::Said;

/// What every program needs to find itself and others.
const INHERITED: [&str; 3] = ["PATH", "HOME", "LANG"];
const LAST_WORDS: Duration = Duration::from_millis(200);
/// After its stdin was closed, and after it was asked to end.
const PATIENCE: Duration = Duration::from_millis(600);

/// A running child. Dropping it kills its whole group.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: Option<Pid>,
    stderr: Option<AbortOnDropHandle<()>>,
}

impl Process {
    /// # Errors
    /// When there is no such program, or it can't be run.
    pub fn start(
        command: &str,
        args: &[String],
        cwd: Option<&str>,
        env: &BTreeMap<String, String>,
        said: Said,
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
        let stderr = stderr.map(|stderr| AbortOnDropHandle::new(tokio::spawn(said.read(stderr))));
        let process = Self { child, group, stderr };
        match (stdout, stdin) {
            (Some(stdout), Some(stdin)) => Ok((process, stdout, stdin)),
            _ => Err(io::Error::other("the child has no standard streams")),
        }
    }

    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits a moment for what a child that fails has still to say.
    pub async fn last_words(&mut self) {
        if let Some(stderr) = self.stderr.take()
            && tokio::time::timeout(LAST_WORDS, stderr).await.is_err()
        {
            tracing::debug!("a tool server goes on talking");
        }
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
