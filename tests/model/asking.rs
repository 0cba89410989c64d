//! What is asked of the Conversation from outside, as the gates and routes ask it: they read the store first, and look for
//! an earlier request under the same key.

use hamlet::{
    gates::admit::Repeatable,
    http::messages::selection,
    store::{branches, conversations, messages, queue},
};
use hamlet_actors::{
    conversation::{Begin, Event, Intent, OnBusy, QueueChange, Ticket, event::Idempotency},
    ports::journal::Queued,
    vocabulary::{Hop, MessageId, MessageStatus, Role},
};
use http::HeaderMap;
use serde_json::json;

use crate::{
    actor::{Ask, Wish},
    broken::{Checked, ensure, must},
    happening::Named,
    rows::{self, Row},
    world::{World, pick},
};

impl World {
    pub async fn say(&mut self, busy: OnBusy, key: Option<u8>) -> Checked {
        // What is said under a key is the same each time.
        let (text, busy) = match key {
            Some(key) => (format!("Under key {key}."), by_key(key)),
            None => (format!("Question {}?", self.number()), busy),
        };
        self.tell(format!("Pia says {text:?} ({busy:?})"));
        let key = match key {
            Some(key) => {
                let key = self.key(key)?;
                if self.joins_earlier(&key).await? {
                    return Ok(());
                }
                Some(key)
            }
            None => None,
        };
        let intent = Intent::Send {
            message: self.message_id(),
            author: self.person(),
            text: text.clone(),
            client_id: Some(text.clone()),
            to: None,
        };
        self.begin(intent, busy, key, Some(text)).await
    }

    pub async fn regenerate(&mut self, behind: bool) -> Checked {
        let (id, player) = (self.conversation, self.house.player);
        let read = move |conn: &rusqlite::Connection| {
            let row = conversations::of_player(conn, id, player)?;
            Ok((row.last_seq, messages::trailing(conn, row.key)?))
        };
        let (last_seq, Some(trailing)) = self.house.read(read).await? else { return Ok(()) };
        self.tell("Pia asks for another answer".to_owned());
        let intent = Intent::Regenerate {
            as_of: if behind { last_seq.saturating_sub(1) } else { last_seq },
            supersedes: trailing.replies,
            variant_of: trailing.variant_of,
            first_position: trailing.first_position,
        };
        self.begin(intent, OnBusy::Reject, None, None).await
    }

    /// Another text in place of one that was said.
    pub async fn rewrite(&mut self, which: u8) -> Checked {
        let said = self.rows().await?;
        let said: Vec<&Row> =
            said.iter().filter(|row| row.role == Role::Player && row.status == MessageStatus::Complete).collect();
        let Some(edited) = pick(&said, which).map(|row| row.id) else { return Ok(()) };
        let (id, player) = (self.conversation, self.house.player);
        let read = move |conn: &rusqlite::Connection| {
            let row = conversations::of_player(conn, id, player)?;
            Ok((row.last_seq, branches::from(conn, row.key, edited)?))
        };
        let (as_of, branch) = self.house.read(read).await?;
        let text = format!("Rather {}.", self.number());
        self.tell(format!("Pia rewrites {edited} as {text:?}"));
        let intent = Intent::Edit {
            as_of,
            message: self.message_id(),
            author: self.person(),
            text: text.clone(),
            client_id: None,
            supersedes: branch.messages,
            variant_of: branch.variant_of,
            first_position: branch.position,
        };
        self.begin(intent, OnBusy::Reject, None, Some(text)).await
    }

    pub async fn edit_waiting(&mut self, which: u8) -> Checked {
        let Some(message) = self.some_text_of_hers(which).await? else { return Ok(()) };
        let text = format!("Reads {}.", self.number());
        self.tell(format!("Pia edits {message}, which waits: {text:?}"));
        self.wish(Wish::Change(QueueChange::Edit { message, text: text.into(), idempotency: None })).await
    }

    pub async fn withdraw(&mut self, which: u8) -> Checked {
        let Some(message) = self.some_text_of_hers(which).await? else { return Ok(()) };
        self.tell(format!("Pia withdraws {message}"));
        self.wish(Wish::Change(QueueChange::Withdraw { message })).await
    }

    /// One that waits; now and then one that does not any more.
    async fn some_text_of_hers(&mut self, which: u8) -> Checked<Option<MessageId>> {
        let mut texts: Vec<MessageId> = self.waiting().await?.iter().map(|item| item.message).collect();
        if which > 200 || texts.is_empty() {
            let rows = self.rows().await?;
            texts = rows.iter().filter(|row| row.role == Role::Player).map(|row| row.id).collect();
        }
        Ok(pick(&texts, which).copied())
    }

    pub async fn resume(&mut self) -> Checked {
        self.tell("Pia lets the queue go on".to_owned());
        self.wish(Wish::Resume).await
    }

    pub async fn select(&mut self, which: u8) -> Checked {
        let rows = self.rows().await?;
        let gone: Vec<&Row> = rows.iter().filter(|row| row.status == MessageStatus::Superseded).collect();
        let Some(wanted) = pick(&gone, which).map(|row| row.id) else { return Ok(()) };
        let (id, player) = (self.conversation, self.house.player);
        let read = move |conn: &rusqlite::Connection| {
            let row = conversations::of_player(conn, id, player)?;
            let switch = branches::switch(conn, row.key, wanted)?;
            Ok((row, switch))
        };
        let (row, Some(switch)) = self.house.read(read).await? else { return Ok(()) };
        self.tell(format!("Pia wants the variant {wanted} back"));
        self.wish(Wish::Select(Box::new(selection(&row, switch)))).await
    }

    pub async fn abort(&mut self, named: Named) -> Checked {
        let turn = match named {
            Named::Nobody => None,
            Named::Running => match self.seated.and_then(|number| self.actors.get(&number)) {
                Some(actor) => actor.state.running_turn(),
                None => None,
            },
            Named::Earlier { pick: which } => pick(&self.ledger.turns, which).copied(),
            Named::Waiting { pick: which } => pick(&self.waiting().await?, which).map(|item| item.turn),
        };
        self.tell(format!("Pia says stop ({named:?}, {turn:?})"));
        self.wish(Wish::Abort { turn, running: None }).await
    }

    async fn begin(
        &mut self,
        intent: Intent,
        on_busy: OnBusy,
        key: Option<Idempotency>,
        question: Option<String>,
    ) -> Checked {
        let begin = Begin {
            turn: self.turn_id(),
            reply: self.message_id(),
            intent,
            speaker: self.npc(),
            provider_name: "mock".to_owned(),
            model: self.model(),
            hop: Hop { count: 0, limit: 6 },
            step_limit: 16,
            on_busy,
            idempotency: key,
            now: self.at(),
        };
        self.wish(Wish::Begin { begin: Box::new(begin), question: question.map(Into::into) }).await
    }

    pub async fn wish(&mut self, wish: Wish) -> Checked {
        self.tickets += 1;
        self.ask(Ask { wish, ticket: Ticket(self.tickets), tries: 0 }).await
    }

    /// Asks whoever sits in the Village.
    pub async fn ask(&mut self, mut ask: Ask) -> Checked {
        let now = self.at();
        let number = self.find().await?;
        let Some(actor) = self.actors.get_mut(&number) else { return Ok(()) };
        if let Wish::Abort { turn, running } = &mut ask.wish {
            // What a Stop must hit: the turn that runs and has not come to its end by itself.
            let runs = actor.task.as_ref().filter(|task| !task.over).map(|task| task.turn);
            *running = runs.filter(|runs| turn.is_none_or(|turn| turn == *runs));
        }
        let ticket = ask.ticket;
        actor.asks.insert(ticket, ask.clone());
        let event = match ask.wish {
            Wish::Begin { mut begin, question } => {
                begin.now = now;
                actor.plans.insert(begin.turn, question);
                Event::BeginAsked { begin, ticket }
            }
            Wish::Abort { turn, .. } => Event::AbortAsked { turn, ticket, now },
            Wish::Change(change) => Event::ChangeAsked { change, ticket, now },
            Wish::Resume => Event::ResumeAsked { ticket },
            Wish::Select(select) => Event::SelectAsked { select, ticket, now },
        };
        self.give(number, event).await
    }

    /// A repeat joins the turn that the first one began, whoever is awake. False: there was no first one.
    pub async fn joins_earlier(&mut self, key: &Idempotency) -> Checked<bool> {
        let (player, name) = (key.player, key.key.clone());
        let Some(earlier) = self.house.read(move |conn| conversations::earlier(conn, player, &name)).await? else {
            return Ok(false);
        };
        ensure!(earlier.body_hash == key.body_hash, "another request is stored under {}", key.key);
        // In which turn a text that steers is answered may be another thing once the first one has ended.
        let first = *self.ledger.keys.entry(key.key.clone()).or_insert(earlier.message);
        ensure!(first == earlier.message, "{} was {first:?}, and is {earlier:?}", key.key);
        let rows = self.rows().await?;
        let elsewhere = rows.iter().find(|row| row.id == earlier.message && row.turn != earlier.turn);
        ensure!(elsewhere.is_none(), "{earlier:?} is answered in {elsewhere:?}");
        self.tell(format!("  which joins turn {}", earlier.turn));
        Ok(true)
    }

    pub fn key(&self, key: u8) -> Checked<Idempotency> {
        let (name, body) = (self.key_name(key), keyed_body(key));
        let mut headers = HeaderMap::new();
        headers.insert("idempotency-key", must(name.parse(), "a key")?);
        let repeatable = Repeatable::of(&headers, &format!("messages {}", self.conversation), &body);
        let body_hash = repeatable.map_err(|_| crate::broken::Broken("a key is refused".to_owned()))?.body_hash;
        Ok(Idempotency { player: self.house.player, key: name, body_hash })
    }

    pub fn key_name(&self, key: u8) -> String {
        format!("run-{}-key-{key}", self.run)
    }

    pub async fn rows(&self) -> Checked<Vec<Row>> {
        let id = self.conversation;
        self.house.read(move |conn| rows::all(conn, id)).await
    }

    /// What waits, as it is stored.
    pub async fn waiting(&self) -> Checked<Vec<Queued>> {
        let (id, player) = (self.conversation, self.house.player);
        let read =
            move |conn: &rusqlite::Connection| queue::waiting(conn, conversations::of_player(conn, id, player)?.key);
        self.house.read(read).await
    }
}

/// The body of the request that is sent under a key.
pub fn keyed_body(key: u8) -> Vec<u8> {
    let busy = format!("{:?}", by_key(key)).to_lowercase();
    json!({"text": format!("Under key {key}."), "onBusy": busy}).to_string().into_bytes()
}

fn by_key(key: u8) -> OnBusy {
    match key {
        0 => OnBusy::Reject,
        1 => OnBusy::Enqueue,
        2 => OnBusy::Interrupt,
        _ => OnBusy::Steer,
    }
}
