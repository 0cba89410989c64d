//! A stream that is cut at any byte. What a browser has taken from the bytes before the cut, and what it asks for when it
//! comes back, folds to the same transcript as the whole (promise 6). Here everything is the real thing but the Provider.

use axum::body::BodyDataStream;
use futures_util::StreamExt;
use hamlet_actors::{
    ports::{End, ProviderEvent},
    vocabulary::{CallDelta, ConversationId, Delta, FinishReason, Frame, MessageStatus, Opaque, Transcript},
};
use hamlet_test_support::Script;
use http::Method;
use serde_json::{Value, json};

use crate::{
    broken::{Broken, Checked, ensure, must},
    house::House,
    sse,
};

/// What a tab holds between two events: the last id, and what it has folded.
#[derive(Debug, Clone, Default)]
struct Held {
    last_id: String,
    transcript: Transcript,
}

impl Held {
    fn hear(&mut self, events: Vec<sse::Dispatched>) -> Checked {
        for event in events {
            self.last_id = event.last_id;
            if event.name.is_empty() && !event.data.is_empty() {
                self.transcript.fold(must(serde_json::from_str::<Frame>(&event.data), &event.data)?);
            }
        }
        Ok(())
    }

    /// Where it stands, whichever of the two forms the ids have.
    fn cursor(&self) -> u64 {
        self.last_id.rsplit(':').next().and_then(|seq| seq.parse().ok()).unwrap_or(0)
    }
}

/// A stream that is being read, byte by byte as far as the reader knows.
struct Watch {
    body: BodyDataStream,
    reader: sse::Reader,
    held: Held,
    raw: Vec<u8>,
}

impl Watch {
    async fn until(&mut self, condition: impl Fn(&Held) -> bool) -> Checked {
        let reading = async {
            while !condition(&self.held) {
                let Some(bytes) = self.body.next().await else {
                    return Err(Broken(format!("the stream ended with {:?}", self.held)));
                };
                let bytes = must(bytes, "a stream")?;
                self.raw.extend_from_slice(&bytes);
                self.held.hear(self.reader.feed(&bytes))?;
            }
            Ok(())
        };
        match tokio::time::timeout(std::time::Duration::from_secs(10), reading).await {
            Ok(read) => read,
            Err(_) => Err(Broken(format!("the stream stays at {:#?}", self.held))),
        }
    }

    async fn read_to_end(&mut self) -> Checked {
        while let Some(bytes) = self.body.next().await {
            let bytes = must(bytes, "a stream")?;
            self.raw.extend_from_slice(&bytes);
            self.held.hear(self.reader.feed(&bytes))?;
        }
        Ok(())
    }
}

/// How a stream is asked for, the first time and when it is come back to.
#[derive(Debug, Clone)]
enum Form {
    Alone,
    Among,
    /// The stream of a turn that was begun under a key.
    OfTurn {
        body: Value,
    },
}

struct Scene {
    house: House,
    id: ConversationId,
}

impl Scene {
    async fn new() -> Checked<Self> {
        let house = House::build().await;
        let npcs = house.json(Method::GET, "/api/npcs").await?;
        let body = json!({"npcIds": [npcs["items"][0]["id"]]});
        let made = house.send(Method::POST, "/api/conversations", Some(body)).await?;
        Ok(Self { house, id: must(serde_json::from_value(made["id"].clone()), "an id")? })
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/conversations/{}/{rest}", self.id)
    }

    async fn say(&self, body: Value) -> Checked<Value> {
        self.house.send(Method::POST, &self.path("messages"), Some(body)).await
    }

    async fn watch(&self, form: &Form, held: Held) -> Checked<Watch> {
        let last = held.last_id.clone();
        let mut headers = vec![("accept", "text/event-stream")];
        if !last.is_empty() {
            headers.push(("last-event-id", &last));
        }
        let asked = match form {
            Form::Alone => self.house.stream(Method::GET, &self.path("frames?after=0"), &headers, None).await,
            Form::Among => {
                let path = format!("/api/frames?watch={}:0", self.id);
                self.house.stream(Method::GET, &path, &headers, None).await
            }
            Form::OfTurn { body } => {
                headers.push(("idempotency-key", "the-turn"));
                let body = Some(body.to_string().into_bytes());
                self.house.stream(Method::POST, &self.path("messages"), &headers, body).await
            }
        };
        let Some(body) = asked? else { return Err(Broken("there is nothing to watch".to_owned())) };
        Ok(Watch { body, reader: sse::Reader::default(), held, raw: Vec::new() })
    }

    /// A turn whose reply comes piece by piece, each seen before the next.
    async fn reply(&self, script: &Script, watch: &mut Watch, deltas: Vec<Delta>, end: End) -> Checked {
        pieces(script, watch, deltas).await?;
        let ends = count_ends(&watch.held);
        script.usage(5, 7);
        script.end(end);
        watch.until(|held| count_ends(held) > ends).await
    }

    /// Everything that frames can tell, in one Conversation: answers the tab that saw all of it.
    async fn play(&self) -> Checked<Watch> {
        let complete = || End::Complete(FinishReason::Stop);
        let mut watch = self.watch(&Form::Alone, Held::default()).await?;
        // Thoughts, text that must be escaped, state that is never shown.
        let script = self.house.provider.expect();
        self.say(json!({"text": "First \"words\"\nand \u{e9}\u{1F600}"})).await?;
        let deltas = vec![
            thought("Let me "),
            thought("see.\n\n"),
            Delta::Opaque(Opaque { signature: Some("s".to_owned()), ..Opaque::default() }),
            text("Well \"met\", "),
            text("id: 7\n\ndata: traveller \\ \u{1F600}"),
        ];
        self.reply(&script, &mut watch, deltas, complete()).await?;
        // A call that nobody granted: it is refused, and the reply goes on.
        let (script, after) = (self.house.provider.expect(), self.house.provider.expect());
        self.say(json!({"text": "Call"})).await?;
        let deltas = vec![text("Wait. "), call("{\"a", false), call("{\"a\": 1.0}", true)];
        pieces(&script, &mut watch, deltas).await?;
        script.usage(5, 7);
        script.end(End::Complete(FinishReason::ToolCalls));
        self.reply(&after, &mut watch, vec![text("Never mind.")], complete()).await?;
        // A text that waits, one that steers, one that waits and is edited, one that is withdrawn.
        let script = self.house.provider.expect();
        self.say(json!({"text": "Long"})).await?;
        pieces(&script, &mut watch, vec![text("So ")]).await?;
        self.say(json!({"text": "Waits", "onBusy": "enqueue"})).await?;
        self.say(json!({"text": "Leaves", "onBusy": "enqueue"})).await?;
        self.say(json!({"text": "In brief", "onBusy": "steer"})).await?;
        watch
            .until(|held| held.transcript.entries().last().is_some_and(|entry| entry.status == MessageStatus::Queued))
            .await?;
        watch.until(|held| waiting(held).len() == 3).await?;
        let [waits, leaves, _] = waiting(&watch.held)[..] else { return Err(Broken("three wait".to_owned())) };
        let edited = json!({"text": "Waits, edited"});
        self.house.send(Method::PATCH, &format!("/api/messages/{waits}"), Some(edited)).await?;
        self.house.send(Method::DELETE, &format!("/api/messages/{leaves}"), None).await?;
        let (step, next) = (self.house.provider.expect(), self.house.provider.expect());
        pieces(&script, &mut watch, vec![text("far")]).await?;
        script.end(complete());
        watch.until(|held| waiting(held).len() == 1).await?;
        self.reply(&step, &mut watch, vec![text("Short.")], complete()).await?;
        self.reply(&next, &mut watch, vec![text("Yes?")], complete()).await?;
        // Answered again, said otherwise, and brought back.
        let script = self.house.provider.expect();
        self.house.send(Method::POST, &self.path("regenerate"), Some(json!({}))).await?;
        self.reply(&script, &mut watch, vec![thought("Hm."), text("No.")], complete()).await?;
        let script = self.house.provider.expect();
        let first = watch.held.transcript.entries().first().map(|entry| entry.id);
        let Some(first) = first else { return Err(Broken("nothing was said".to_owned())) };
        self.house.send(Method::PATCH, &format!("/api/messages/{first}"), Some(json!({"text": "Rather this"}))).await?;
        self.reply(&script, &mut watch, vec![text("Another "), text("branch.")], complete()).await?;
        self.house.send(Method::POST, &format!("/api/messages/{first}/select"), Some(json!({}))).await?;
        watch.until(|held| held.transcript.entries().first().is_some_and(|entry| entry.id == first)).await?;
        watch.until(|held| held.transcript.entries().len() > 6).await?;
        Ok(watch)
    }

    /// The newest cursor, once nothing is under way.
    async fn cursor(&self) -> Checked<u64> {
        let page = self.house.json(Method::GET, &self.path("messages")).await?;
        must(serde_json::from_value(page["cursor"].clone()), "the cursor")
    }

    /// Cuts the bytes at every offset, comes back, and reads to the same end.
    async fn cut_everywhere(&self, form: &Form, bytes: &[u8], whole: &Held) -> Checked<usize> {
        let mut tried = 0;
        for (cut, held) in moments(bytes)? {
            let mut resumed = self.watch(form, held.clone()).await?;
            match form {
                Form::OfTurn { .. } => resumed.read_to_end().await?,
                Form::Alone | Form::Among => {
                    let (end, opened) = (whole.cursor(), held.cursor());
                    resumed.until(|now| now.cursor() >= end && (opened >= end || now.cursor() > opened)).await?;
                }
            }
            same(&resumed.held, whole, &format!("cut at {cut}, with {:?}", held.last_id))?;
            tried += 1;
        }
        Ok(tried)
    }
}

/// What a browser holds at each offset; neighbours that hold the same are one. Only whole events change it.
fn moments(bytes: &[u8]) -> Checked<Vec<(usize, Held)>> {
    let (mut reader, mut held) = (sse::Reader::default(), Held::default());
    let mut moments = vec![(0, held.clone())];
    for (at, byte) in bytes.iter().enumerate() {
        let events = reader.feed(&[*byte]);
        if !events.is_empty() {
            held.hear(events)?;
            moments.push((at + 1, held.clone()));
        }
    }
    ensure!(moments.len() > 20, "there is little to cut: {}", String::from_utf8_lossy(bytes));
    Ok(moments)
}

fn same(has: &Held, whole: &Held, when: &str) -> Checked {
    ensure!(
        has.transcript.entries() == whole.transcript.entries(),
        "{when}: {:#?}\nthe whole is {:#?}",
        has.transcript,
        whole.transcript
    );
    Ok(())
}

/// Says them one by one, each once the one before was seen.
async fn pieces(script: &Script, watch: &mut Watch, deltas: Vec<Delta>) -> Checked {
    for delta in deltas {
        let (before, shown) = (watch.held.cursor(), !matches!(delta, Delta::Opaque(_)));
        script.events(vec![ProviderEvent::Delta(delta)]);
        if shown {
            watch.until(|held| held.cursor() > before && held.transcript.entries().iter().any(is_running)).await?;
        }
    }
    Ok(())
}

fn is_running(entry: &hamlet_actors::vocabulary::Entry) -> bool {
    entry.status == MessageStatus::Running && !entry.parts.is_empty()
}

fn waiting(held: &Held) -> Vec<hamlet_actors::vocabulary::MessageId> {
    let waits = held.transcript.entries().iter().filter(|entry| entry.status == MessageStatus::Queued);
    waits.map(|entry| entry.id).collect()
}

/// Replies that have ended.
fn count_ends(held: &Held) -> usize {
    let ended = |entry: &&hamlet_actors::vocabulary::Entry| {
        entry.role == hamlet_actors::vocabulary::Role::Npc && entry.status != MessageStatus::Running
    };
    held.transcript.entries().iter().filter(ended).count()
}

fn text(text: &str) -> Delta {
    Delta::Text(text.to_owned())
}

fn thought(text: &str) -> Delta {
    Delta::Reasoning(text.to_owned())
}

fn call(arguments: &str, closed: bool) -> Delta {
    Delta::Call(CallDelta { id: "call".to_owned(), name: "look".to_owned(), arguments: arguments.to_owned(), closed })
}

#[tokio::test]
async fn promise_6_a_stream_that_is_cut_at_any_byte_resumes_without_gap_or_double() {
    let cut = async {
        let scene = Scene::new().await?;
        let mut live = scene.play().await?;
        let end = scene.cursor().await?;
        live.until(|held| held.cursor() == end).await?;
        let (live, whole) = (live.raw, live.held);
        scene.cut_everywhere(&Form::Alone, &live, &whole).await?;
        // The same, as whoever comes later is told it; in both forms; and from the store alone, after a restart.
        for form in [Form::Alone, Form::Among] {
            let mut again = scene.watch(&form, Held::default()).await?;
            again.until(|held| held.cursor() == end).await?;
            same(&again.held, &whole, "a replay")?;
            scene.cut_everywhere(&form, &again.raw, &whole).await?;
        }
        let scene = Scene { house: scene.house.reopened().await, id: scene.id };
        scene.cut_everywhere(&Form::Alone, &live, &whole).await
    };
    if let Err(broken) = cut.await {
        panic!("{}", broken.0);
    }
}

#[tokio::test]
async fn promise_6_the_stream_of_a_turn_that_is_cut_at_any_byte_comes_to_its_end() {
    let cut = async {
        let scene = Scene::new().await?;
        let script = scene.house.provider.expect();
        let form = Form::OfTurn { body: json!({"text": "First"}) };
        let mut live = scene.watch(&form, Held::default()).await?;
        pieces(&script, &mut live, vec![thought("Let me "), thought("see."), text("So "), text("far")]).await?;
        scene.say(json!({"text": "In brief", "onBusy": "steer"})).await?;
        live.until(|held| waiting(held).len() == 1).await?;
        let step = scene.house.provider.expect();
        script.end(End::Complete(FinishReason::Stop));
        live.until(|held| waiting(held).is_empty()).await?;
        pieces(&step, &mut live, vec![text("Sh"), text("ort"), text("."), call("{}", true)]).await?;
        step.end(End::Truncated);
        live.read_to_end().await?;
        let (live, whole) = (live.raw, live.held);
        scene.cut_everywhere(&form, &live, &whole).await?;
        // Another turn has begun meanwhile.
        let script = scene.house.provider.expect();
        scene.say(json!({"text": "And now"})).await?;
        let mut other = scene.watch(&Form::Alone, Held::default()).await?;
        pieces(&script, &mut other, vec![text("This")]).await?;
        scene.cut_everywhere(&form, &live, &whole).await
    };
    if let Err(broken) = cut.await {
        panic!("{}", broken.0);
    }
}

/// While the reply is still being written: whoever was cut off has what everybody has, and goes on with them.
#[tokio::test]
async fn promise_6_a_stream_that_is_cut_while_a_reply_runs_goes_on_with_it() {
    let cut = async {
        let scene = Scene::new().await?;
        let mut live = scene.watch(&Form::Alone, Held::default()).await?;
        let first = scene.house.provider.expect();
        scene.say(json!({"text": "First"})).await?;
        scene.reply(&first, &mut live, vec![text("One "), text("two.")], End::Complete(FinishReason::Stop)).await?;
        let script = scene.house.provider.expect();
        scene.say(json!({"text": "Second"})).await?;
        let deltas =
            vec![thought("Let "), thought("me."), text("a "), text("\"b\" "), call("{\"c\":", false), text(" d")];
        pieces(&script, &mut live, deltas).await?;
        scene.say(json!({"text": "Waits", "onBusy": "enqueue"})).await?;
        live.until(|held| waiting(held).len() == 1).await?;
        pieces(&script, &mut live, vec![text("e"), text("f")]).await?;
        let (so_far, now) = (live.raw.clone(), live.held.clone());
        let mut resumed = Vec::new();
        for form in [Form::Alone, Form::Among] {
            for (cut, mut held) in moments(&so_far)? {
                if matches!(form, Form::Among) && !held.last_id.is_empty() {
                    held.last_id = format!("{}:{}", scene.id, held.last_id);
                }
                let mut watch = scene.watch(&form, held.clone()).await?;
                watch.until(|held| held.cursor() == now.cursor() && held.transcript.entries().len() == 5).await?;
                same(&watch.held, &now, &format!("cut at {cut}, {form:?}"))?;
                resumed.push((cut, watch));
            }
        }
        pieces(&script, &mut live, vec![text("g"), text("h")]).await?;
        script.end(End::Truncated);
        live.until(|held| count_ends(held) == 2).await?;
        let end = scene.cursor().await?;
        live.until(|held| held.cursor() == end).await?;
        for (cut, watch) in &mut resumed {
            watch.until(|held| held.cursor() == end).await?;
            same(&watch.held, &live.held, &format!("cut at {cut}, and on"))?;
        }
        Ok::<_, Broken>(())
    };
    if let Err(broken) = cut.await {
        panic!("{}", broken.0);
    }
}
