//! What the rehearsal says: a pure function from a request to the pieces of a reply, one reply for each cue.

use hamlet_actors::{
    ports::{End, ModelRequest, ProviderEvent, RequestItem, ToolSpec},
    vocabulary::{CallDelta, Delta, FinishReason, Usage},
};

/// One item of the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Beat {
    Say(Vec<ProviderEvent>),
    /// The Provider fails here.
    Fail,
    /// Nothing more comes.
    Silence,
}

/// How a scripted reply ends.
enum Curtain {
    Stop,
    Call(CallDelta),
    Fail,
    Cut,
    Silence,
}

pub fn script(request: &ModelRequest) -> Vec<Beat> {
    let (thought, text, curtain) = play(request);
    let mut beats: Vec<Beat> = pieces(&thought).map(|piece| said(Delta::Reasoning(piece.to_owned()))).collect();
    beats.extend(pieces(&text).map(|piece| said(Delta::Text(piece.to_owned()))));
    let usage = ProviderEvent::Usage(Usage {
        input_tokens: Some(input_tokens(request)),
        output_tokens: Some(beats.len() as u64),
        ..Usage::default()
    });
    match curtain {
        Curtain::Stop => beats.push(Beat::Say(vec![usage, ProviderEvent::End(End::Complete(FinishReason::Stop))])),
        Curtain::Call(call) => {
            let opened = CallDelta { arguments: String::new(), closed: false, ..call.clone() };
            beats.push(said(Delta::Call(opened)));
            let end = ProviderEvent::End(End::Complete(FinishReason::ToolCalls));
            beats.push(Beat::Say(vec![ProviderEvent::Delta(Delta::Call(call)), usage, end]));
        }
        Curtain::Cut => beats.push(Beat::Say(vec![ProviderEvent::End(End::Truncated)])),
        Curtain::Fail => beats.push(Beat::Fail),
        Curtain::Silence => beats.push(Beat::Silence),
    }
    beats
}

/// What stands behind the last "[A to B]: " that begins a paragraph.
fn handed(words: &str) -> Option<&str> {
    let begins = |at: usize| at == 0 || words[..at].ends_with("\n\n");
    let (at, _) = words.rmatch_indices('[').find(|(at, _)| begins(*at))?;
    let (names, message) = words[at..].split_once("]: ")?;
    names.contains(" to ").then_some(message)
}

/// The thought, the text and the end of a reply.
fn play(request: &ModelRequest) -> (String, String, Curtain) {
    let npc = name_in(&request.system);
    if let Some(RequestItem::ToolResult { name, output, is_error, .. }) = request.items.last() {
        let verb = if *is_error { "refused" } else { "answered" };
        let text = format!("`{name}` {verb}:\n\n> {}\n\nThat is all a rehearsal can say about it.", quoted(output));
        return (String::new(), text, Curtain::Stop);
    }
    let words = request.items.iter().rev().find_map(|item| match item {
        RequestItem::User { text } => Some(text.trim()),
        RequestItem::Assistant { .. } | RequestItem::ToolResult { .. } => None,
    });
    // Whoever was handed the turn takes its cues from what it was handed.
    let words = words.map(|words| handed(words).unwrap_or(words)).unwrap_or_default();
    if let Some(rest) = echoed(words) {
        return (String::new(), rest.to_owned(), Curtain::Stop);
    }
    if let Some((tool, arguments)) = tool_cue(words, &request.tools) {
        // The number of calls so far makes the id unique in the history and the reply repeatable.
        let nth = request.items.iter().filter(|item| matches!(item, RequestItem::ToolResult { .. })).count() + 1;
        let call = CallDelta {
            id: format!("rehearsed_{nth}"),
            name: tool.name.clone(),
            arguments: arguments.to_owned(),
            closed: true,
        };
        return (String::new(), format!("I will use `{}` for that.", tool.name), Curtain::Call(call));
    }
    let has = |cue: &str| words.split(|c: char| !c.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case(cue));
    let thought = if has("think") {
        format!("{npc} has no thoughts of their own in a rehearsal. The Player wrote {} words.", count(words))
    } else {
        String::new()
    };
    let (text, curtain) = if has("fail") {
        (format!("{npc} here. In the middle of this sentence the Provider will"), Curtain::Fail)
    } else if has("cut") {
        (format!("{npc} here. This reply breaks off before"), Curtain::Cut)
    } else if has("silence") {
        (format!("{npc} here. And now, silence."), Curtain::Silence)
    } else if has("markdown") {
        (markdown(npc), Curtain::Stop)
    } else if has("long") {
        (long(npc), Curtain::Stop)
    } else {
        (greeting(npc, words), Curtain::Stop)
    };
    (thought, text, curtain)
}

fn greeting(npc: &str, words: &str) -> String {
    if words.is_empty() {
        return format!("**{npc}** bows to an empty stage. This is a rehearsal: no language model is connected yet.");
    }
    format!(
        "Good day, I am **{npc}**. This is only a rehearsal: no language model is connected, so I can do no more than \
         hold up a mirror. You said:\n\n> {}\n\nThat makes {} words. Connect a Provider and I will have something of my \
         own to say; until then, try *markdown*, *long*, *think* or *echo: something*.",
        quoted(words),
        count(words),
    )
}

fn markdown(npc: &str) -> String {
    format!(
        "## What {npc} can show in a rehearsal\n\nNo language model wrote this. It has *emphasis*, **weight** and `code`.\n\n\
         - a list\n- with two entries\n  1. and one inside\n\n| Role | Played by |\n|---|---|\n| {npc} | a script |\n\
         | Player | you |\n\n```rust\nfn main() {{\n    println!(\"to be, or not to be\");\n}}\n```\n\n\
         > A quotation closes the scene.\n"
    )
}

/// Some six hundred words.
fn long(npc: &str) -> String {
    const PLACES: [&str; 9] = [
        "the mill",
        "the well",
        "the bakery",
        "the bridge",
        "the orchard",
        "the smithy",
        "the inn",
        "the school",
        "the harbour",
    ];
    let mut text = format!("A long walk through the village, rehearsed by {npc} without a language model.\n\n");
    for (at, place) in PLACES.iter().enumerate() {
        let next = PLACES[(at + 1) % PLACES.len()];
        text.push_str(&format!(
            "{}. We come to {place}. Somebody has swept the steps and left the broom against the door, as people do who \
             mean to be back soon. Two neighbours are talking about the weather and do not look up; a third is counting \
             something under her breath and must not be disturbed. We wait a little, we listen, and then we walk on \
             towards {next}.\n\n",
            at + 1
        ));
    }
    text.push_str("And here the walk ends where it began, and so does the rehearsal.");
    text
}

/// The first `You are Ada, the baker.` of the prompt says who speaks.
fn name_in(system: &str) -> &str {
    const BEFORE: &str = "You are ";
    let start = system.find(BEFORE).and_then(|at| system.get(at + BEFORE.len()..)).unwrap_or_default();
    let name = start.split([',', '.', '\n', '(', ':', ';', '—']).next().unwrap_or_default().trim();
    if name.is_empty() || name.chars().count() > 60 { "the NPC" } else { name }
}

/// What follows `echo:` at the beginning, exactly but for the blank before it.
fn echoed(words: &str) -> Option<&str> {
    let (cue, rest) = words.split_at_checked(5)?;
    cue.eq_ignore_ascii_case("echo:").then(|| rest.strip_prefix(' ').unwrap_or(rest))
}

/// `use NAME {json}` for a tool that was granted; without an object the arguments are empty.
fn tool_cue<'r>(words: &'r str, tools: &'r [ToolSpec]) -> Option<(&'r ToolSpec, &'r str)> {
    tools.iter().find_map(|tool| {
        let cue = format!("use {}", tool.name);
        let at = words.find(&cue)?;
        let rest = &words[at + cue.len()..];
        if rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-')) {
            return None;
        }
        let rest = rest.trim_start();
        let mut objects = serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Map<String, _>>();
        let arguments = match objects.next() {
            Some(Ok::<serde_json::Map<String, serde_json::Value>, _>(_)) => &rest[..objects.byte_offset()],
            _ => "{}",
        };
        Some((tool, arguments))
    })
}

/// A quotation's later lines stay in it.
fn quoted(words: &str) -> String {
    words.replace('\n', "\n> ")
}

fn count(words: &str) -> usize {
    words.split_whitespace().count()
}

/// Pieces about as large as a model's tokens: a word with the blank before it, long words in parts.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut chars = rest.char_indices();
        chars.next();
        let end = chars.enumerate().find(|(nth, (_, c))| *nth >= 7 || c.is_whitespace());
        let (piece, more) = rest.split_at(end.map_or(rest.len(), |(_, (at, _))| at));
        rest = more;
        Some(piece)
    })
}

fn said(delta: Delta) -> Beat {
    Beat::Say(vec![ProviderEvent::Delta(delta)])
}

fn input_tokens(request: &ModelRequest) -> u64 {
    let items = request.items.iter().map(|item| match item {
        RequestItem::User { text } => text.len(),
        RequestItem::Assistant { text, calls, .. } => {
            text.len() + calls.iter().map(|call| call.arguments.len()).sum::<usize>()
        }
        RequestItem::ToolResult { output, .. } => output.len(),
    });
    ((request.system.len() + items.sum::<usize>()) / 4) as u64
}
