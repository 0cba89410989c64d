//! What a child writes to its stderr: read to the end, so that it never waits for a full pipe, logged up to a limit, and its
//! last lines kept for admins.

use std::collections::VecDeque;

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    sync::watch,
};

use super::words::Hidden;

/// Bytes that one process may write into the log, and of one line.
const LOGGED_MAX: usize = 64 * 1024;
const LINE_MAX: usize = 1_000;
const KEPT: usize = 20;

/// The last lines, oldest first.
pub type Lines = watch::Sender<VecDeque<String>>;

pub struct Said {
    server: String,
    hidden: Hidden,
    lines: Lines,
}

impl Said {
    /// Of a process that begins: what its predecessor said is forgotten.
    pub fn new(server: String, hidden: Hidden, lines: Lines) -> Self {
        lines.send_replace(VecDeque::new());
        Self { server, hidden, lines }
    }

    pub async fn read(self, mut stderr: impl AsyncRead + Unpin) {
        let (mut buffer, mut line, mut logged) = ([0; 4_096], Vec::new(), 0);
        loop {
            let read = match stderr.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
            for byte in &buffer[..read] {
                if *byte != b'\n' {
                    if line.len() < LINE_MAX {
                        line.push(*byte);
                    }
                    continue;
                }
                self.tell(&line, &mut logged);
                line.clear();
            }
        }
        self.tell(&line, &mut logged);
    }

    fn tell(&self, line: &[u8], logged: &mut usize) {
        let line = self.hidden.cover(&String::from_utf8_lossy(line));
        if line.is_empty() {
            return;
        }
        if *logged < LOGGED_MAX {
            *logged += line.len();
            tracing::debug!(server = self.server, line, "a tool server writes to stderr");
        }
        self.lines.send_modify(|lines| {
            if lines.len() == KEPT {
                lines.pop_front();
            }
            lines.push_back(line);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(text: &[u8]) -> Vec<String> {
        let lines = Lines::default();
        Said::new("a".to_owned(), Hidden(vec!["sk-secret".to_owned()]), lines.clone()).read(text).await;
        lines.borrow().iter().cloned().collect()
    }

    #[tokio::test]
    async fn the_last_lines_are_kept_without_what_is_hidden() {
        assert_eq!(check(b"one\n\ntwo sk-secret\r\nend").await, ["one", "two ***", "end"]);
        let many: String = (0..100).map(|n| format!("{n}\n")).collect();
        let kept = check(many.as_bytes()).await;
        assert_eq!((kept.len(), kept[0].as_str(), kept[KEPT - 1].as_str()), (KEPT, "80", "99"));
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_cut() {
        let kept = check(&vec![b'x'; 1 << 20]).await;
        assert!(kept.len() == 1 && kept[0].len() <= LINE_MAX, "{}", kept[0].len());
    }
}
