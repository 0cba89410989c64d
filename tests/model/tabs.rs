//! What tabs do, over the real routes.

use hamlet_actors::vocabulary::{Message, Transcript};
use http::Method;
use serde_json::from_value;

use crate::{
    asking::keyed_body,
    broken::{Checked, must},
    happening::TabDoes,
    rows,
    tab::Held,
    world::{Shown, World},
};

impl World {
    /// The first tab watches from the first Message on and keeps up.
    pub async fn open_quick_tab(&mut self) -> Checked {
        self.open(0, Held::default(), Some(0), false).await
    }

    pub async fn quick_tab_reads(&mut self) -> Checked {
        if self.deleted {
            return Ok(());
        }
        if self.tabs[0].connection.is_none() {
            let held = self.tabs[0].held.clone();
            let cursor = held.cursor;
            self.open(0, held, Some(cursor), false).await?;
        }
        self.read_all(0).await
    }

    pub async fn tab_does(&mut self, tab: usize, does: TabDoes) -> Checked {
        // The first one only ever reads.
        if tab == 0 {
            return Ok(());
        }
        self.tell(format!("{}: {does:?}", self.tabs[tab].name));
        match does {
            TabDoes::Read => {
                self.read_all(tab).await?;
                self.tabs[tab].remember();
                Ok(())
            }
            TabDoes::Glance => {
                if self.owed(tab).await? {
                    self.tabs[tab].glance().await
                } else {
                    Ok(())
                }
            }
            TabDoes::Drop { after } => {
                let owed = self.owed(tab).await?;
                self.tabs[tab].drop_in(usize::from(after), owed).await
            }
            TabDoes::Return { with, among } => self.come_back(tab, with, among).await,
            TabDoes::Reload => self.reload(tab).await,
            TabDoes::FromTheStart { among } => self.open_anew(tab, Some(0), among).await,
            TabDoes::FromNow => self.open_anew(tab, None, false).await,
            TabDoes::Join { key, last } => self.join(tab, key, last).await,
        }
    }

    /// With one of the cursors that it held, and the transcript that went with it.
    async fn come_back(&mut self, tab: usize, with: u8, among: bool) -> Checked {
        if self.tabs[tab].until.is_some() {
            return Ok(());
        }
        let mut moments = self.tabs[tab].past.clone();
        moments.push(self.tabs[tab].held.clone());
        let held = moments[usize::from(with) % moments.len()].clone();
        let cursor = held.cursor;
        self.tell(format!("  with {cursor}"));
        self.open(tab, held, Some(cursor), among).await
    }

    /// The transcript with its cursor, and the frames from there on.
    pub async fn reload(&mut self, tab: usize) -> Checked {
        let (transcript, cursor) = self.transcript().await?;
        self.tell(format!("  which gives {cursor}"));
        self.check_reload(&transcript)?;
        self.forget(tab);
        let held = Held { cursor, transcript, since: 0 };
        self.open(tab, held, Some(cursor), false).await
    }

    pub async fn transcript(&self) -> Checked<(Transcript, u64)> {
        let path = format!("/api/conversations/{}/messages?limit=200", self.conversation);
        let mut page = self.house.json(Method::GET, &path).await?;
        self.check_standing(&page).await?;
        let items: Vec<Message> = must(from_value(page["items"].take()), "the transcript")?;
        Ok((Transcript::of(items), must(from_value(page["cursor"].take()), "the cursor")?))
    }

    pub async fn open_anew(&mut self, tab: usize, after: Option<u64>, among: bool) -> Checked {
        self.forget(tab);
        self.open(tab, Held::default(), after, among).await?;
        if after.is_none() {
            // The opening event tells where it stands.
            self.tabs[tab].glance().await?;
            self.tabs[tab].held.since = self.tabs[tab].held.cursor;
        }
        Ok(())
    }

    /// Nothing of what it held matters any more.
    fn forget(&mut self, tab: usize) {
        let tab = &mut self.tabs[tab];
        tab.connection = None;
        tab.past.clear();
        tab.seen.clear();
        tab.until = None;
    }

    async fn open(&mut self, tab: usize, held: Held, after: Option<u64>, among: bool) -> Checked {
        let id = self.conversation;
        self.tabs[tab].connection = None;
        let body = if among {
            let cursor = after.map(|after| after.to_string()).unwrap_or_default();
            // A URL from earlier on, and the last id beside it: what a browser does by itself.
            let last = format!("{id}:{cursor}");
            let headers: &[(&str, &str)] = if after.is_some() { &[("last-event-id", &last)] } else { &[] };
            self.house.stream(Method::GET, &format!("/api/frames?watch={id}:0"), headers, None).await?
        } else {
            let query = after.map(|after| format!("?after={after}")).unwrap_or_default();
            self.house.stream(Method::GET, &format!("/api/conversations/{id}/frames{query}"), &[], None).await?
        };
        self.tabs[tab].held = held;
        self.tabs[tab].connect(body, among.then_some(id));
        Ok(())
    }

    /// A send that is repeated under its key: the turn's frames, to its end.
    pub async fn join(&mut self, tab: usize, key: u8, last: bool) -> Checked {
        let known = self.key(key)?;
        if !self.joins_earlier(&known).await? {
            return Ok(());
        }
        let Some(reply) = self.ledger.keys.get(&known.key).copied() else { return Ok(()) };
        let again = last && self.tabs[tab].until == Some((reply, key));
        if !again {
            self.forget(tab);
            self.tabs[tab].held = Held::default();
        }
        let (path, cursor) =
            (format!("/api/conversations/{}/messages", self.conversation), self.tabs[tab].held.cursor.to_string());
        let mut headers = vec![("idempotency-key", known.key.as_str()), ("accept", "text/event-stream")];
        if again {
            headers.push(("last-event-id", &cursor));
        }
        let body = self.house.stream(Method::POST, &path, &headers, Some(keyed_body(key))).await?;
        let tab = &mut self.tabs[tab];
        tab.connect(body, None);
        tab.until = Some((reply, key));
        Ok(())
    }

    /// Whether the tab's stream has something that it did not give yet.
    async fn owed(&self, tab: usize) -> Checked<bool> {
        Ok(self.tabs[tab].held.cursor < self.newest(tab).await?)
    }

    /// Where the tab comes to stand when it reads on: at the newest of the log, else of what the log does not hold.
    async fn newest(&self, tab: usize) -> Checked<u64> {
        let (cursor, looks) = (self.tabs[tab].held.cursor, self.tabs[tab].looked_at != Some(self.changes));
        let upto = match self.shown {
            Some(Shown { newest: Some(newest), .. }) => return Ok(newest),
            Some(Shown { floor, .. }) if cursor < floor => Some(floor),
            None if looks => None,
            Some(_) | None => return Ok(cursor),
        };
        let id = self.conversation;
        self.house.read(move |conn| rows::newest_ended(conn, id, upto)).await
    }

    /// Reads until nothing is owed.
    pub async fn read_all(&mut self, tab: usize) -> Checked {
        let newest = self.newest(tab).await?;
        let watched = self.tabs[tab].connection.is_some();
        self.tabs[tab].read_to(newest).await?;
        if watched && self.tabs[tab].connection.is_none() {
            self.check_over(tab).await?;
        }
        self.tabs[tab].looked_at = Some(self.changes);
        self.check_seen(tab)
    }
}
