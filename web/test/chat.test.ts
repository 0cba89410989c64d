// One open Conversation against a server that is played here: what is shown while a text is on its way, what a refusal
// and a lost answer do, and what the stream does out of sight. Drawing is tested in tests/browser.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { Chat } from "../src/chat";
import type { Frame } from "../src/wire";

type Answer = { status: number; body: unknown } | "lost" | Promise<{ status: number; body: unknown }>;

const C = "01890000-0000-7000-8000-0000000000c0";
const T = "01890000-0000-7000-8000-000000000701";
const PLAYER = { kind: "player", id: "p", name: "Wren" } as const;
const NPC = { kind: "npc", id: "n", name: "Ada" } as const;
const STAMP = { title: "Hello", updatedAt: "2026-03-01T12:00:00.000Z" };

let requests: { method: string; path: string; key: string | undefined; body: { text?: string; clientId?: string; turnId?: string; onBusy?: string } }[];
let answers: Map<string, Answer>;
let streams: FakeStream[];
let sight: { visibilityState: string; told: () => void };

class FakeStream {
  static CLOSED = 2;
  readyState = 1;
  onopen?: () => void;
  onmessage?: (event: { data: string; lastEventId: string }) => void;
  onerror?: () => void;
  constructor(readonly url: string) {
    streams.push(this);
  }
  close(): void {
    this.readyState = 2;
  }
  say(frame: Frame, id = ""): void {
    this.onmessage?.({ data: JSON.stringify(frame), lastEventId: id });
  }
}

beforeEach(() => {
  requests = [];
  streams = [];
  answers = new Map([
    [`GET /api/conversations/${C}/messages?limit=200`, { status: 200, body: { items: [], next: null, cursor: 7, turn: null } }],
  ]);
  sight = { visibilityState: "visible", told: () => undefined };
  Object.assign(globalThis, {
    EventSource: FakeStream,
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
    document: {
      get visibilityState() {
        return sight.visibilityState;
      },
      addEventListener: (_: string, told: () => void) => (sight.told = told),
      removeEventListener: () => undefined,
    },
    fetch: async (path: string, { method, headers, body }: { method: string; headers: Record<string, string>; body?: string }) => {
      requests.push({ method, path, key: headers["idempotency-key"], body: body ? JSON.parse(body) : {} });
      const answer = await answers.get(`${method} ${path}`);
      if (answer === "lost" || !answer) throw new TypeError("no connection");
      return new Response(answer.status === 204 ? null : JSON.stringify(answer.body), { status: answer.status });
    },
  });
});

const POST = `POST /api/conversations/${C}/messages`;
const ACCEPTED: Answer = { status: 202, body: { turnId: T, messageId: "m1", cursor: 7 } };
const BUSY: Answer = { status: 409, body: { error: { code: "TURN_IN_PROGRESS", message: "busy", requestId: "r" } } };

async function opened() {
  const heard = { returned: [] as string[], arrived: [] as string[] };
  const chat = new Chat(C, {
    changed: () => undefined,
    returned: (text) => heard.returned.push(text),
    arrived: (text) => heard.arrived.push(text),
    stamped: () => undefined,
  });
  await chat.open();
  return { chat, heard, stream: streams[0]! };
}

function start(id: string, role: "player" | "npc", clientId?: string): Frame {
  return {
    type: "start",
    conversationId: C,
    turnId: T,
    message: {
      id,
      role,
      author: role === "npc" ? NPC : PLAYER,
      position: role === "npc" ? 2 : 1,
      createdAt: STAMP.updatedAt,
      status: role === "npc" ? "running" : "complete",
      ...(clientId ? { clientId } : {}),
    },
    hop: { count: 0, limit: 6 },
    supersedes: [],
  };
}

test("frames are read from the cursor of what was loaded", async () => {
  const { stream } = await opened();
  assert.equal(stream.url, `/api/conversations/${C}/frames?after=7`);
});

test("a text is shown until its message begins", async () => {
  const { chat, stream } = await opened();
  answers.set(POST, ACCEPTED);
  await chat.send("Hello", "enqueue");
  assert.deepEqual(chat.outbox.pending.map(({ text }) => text), ["Hello"]);
  stream.say(start("m1", "player", "another tab"), "8");
  assert.equal(chat.outbox.pending.length, 1, "a message of another tab is not this one");
  stream.say(start("m2", "player", requests.at(-1)!.body.clientId), "9");
  assert.equal(chat.outbox.pending.length, 0);
});

test("a refused text comes back with the reason", async () => {
  const { chat, heard } = await opened();
  answers.set(POST, BUSY);
  await chat.send("Hello", "enqueue");
  assert.deepEqual(heard.returned, ["Hello"]);
  assert.equal(chat.trouble?.code, "TURN_IN_PROGRESS");
  assert.equal(chat.outbox.pending.length, 0);
});

test("the same text after a lost answer goes under the same key, another under another", async () => {
  const { chat } = await opened();
  answers.set(POST, "lost");
  await chat.send("Hello", "enqueue");
  await chat.send("Hello", "enqueue");
  await chat.send("Something else", "enqueue");
  const [first, again, other] = requests.filter(({ method }) => method === "POST");
  assert.ok(first?.key);
  assert.equal(again!.key, first.key);
  assert.equal(again!.body.clientId, first.body.clientId);
  assert.notEqual(other!.key, first.key);
});

test("a text whose answer was lost but that arrived is taken out of the composer", async () => {
  const { chat, heard, stream } = await opened();
  answers.set(POST, "lost");
  await chat.send("Hello", "enqueue");
  stream.say(start("m1", "player", requests.at(-1)!.body.clientId), "8");
  assert.deepEqual(heard.arrived, ["Hello"]);
  assert.equal(chat.trouble, null);
});

test("a text that arrived before its answer was lost is not given back", async () => {
  const { chat, heard, stream } = await opened();
  let lose!: (reason: unknown) => void;
  answers.set(POST, new Promise((_, reject) => (lose = reject)));
  const sent = chat.send("Hello", "enqueue");
  await settled();
  stream.say(start("m1", "player", requests.at(-1)!.body.clientId), "8");
  lose(new TypeError("no connection"));
  await sent;
  assert.deepEqual(heard.returned, []);
  assert.equal(chat.trouble, null);
});

test("Stop names the turn that is running", async () => {
  const { chat, stream } = await opened();
  stream.say(start("m2", "npc"), "8");
  assert.equal(chat.running?.id, "m2");
  answers.set(`POST /api/conversations/${C}/abort`, { status: 200, body: { aborted: true, turnId: T } });
  await chat.stop();
  assert.deepEqual(requests.at(-1)!.body, { turnId: T });
});

test("a store that cannot write is told and is no transcript", async () => {
  const { chat, stream } = await opened();
  stream.say(start("m2", "npc"), "8");
  const before = JSON.stringify(chat.transcript.entries);
  stream.say({ type: "error", turnId: T, messageId: "m2", code: "STORE_UNAVAILABLE", message: "the disk is full", kind: "store", retryable: true });
  assert.equal(chat.aside?.message, "the disk is full");
  assert.equal(JSON.stringify(chat.transcript.entries), before);
  stream.say({ type: "part", messageId: "m2", index: 0, part: { type: "text", text: "on" } }, "9");
  assert.equal(chat.aside, null);
  stream.say({ type: "error", turnId: null, messageId: null, code: "QUARANTINED", message: "put aside", kind: "server", retryable: false });
  assert.equal(chat.aside?.message, "put aside");
});

test("a stream that was refused is tried again from the last id", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { stream } = await opened();
    stream.say(start("m2", "npc"), "8");
    answers.set(`GET /api/conversations/${C}`, { status: 200, body: { id: C } });
    stream.close();
    stream.onerror?.();
    await settled();
    mock.timers.tick(1000);
    assert.equal(streams[1]?.url, `/api/conversations/${C}/frames?after=8`);
  } finally {
    mock.timers.reset();
  }
});

test("a Conversation that was deleted is gone, and not asked for again", async () => {
  const { chat, stream } = await opened();
  answers.set(`GET /api/conversations/${C}`, { status: 404, body: { error: { code: "NOT_FOUND", message: "", requestId: "r" } } });
  stream.close();
  stream.onerror?.();
  await settled();
  assert.equal(chat.stage, "gone");
  assert.equal(streams.length, 1);
});

test("out of sight the stream rests, but not while a reply is written", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { stream } = await opened();
    stream.say(start("m2", "npc"), "8");
    sight.visibilityState = "hidden";
    sight.told();
    mock.timers.tick(20_000);
    assert.equal(stream.readyState, 1, "a reply is being written");
    const ended = { id: T, state: "ended" } as const;
    stream.say({ type: "finish", messageId: "m2", status: "complete", finishReason: "stop", usage: null, turn: ended, conversation: STAMP }, "9");
    mock.timers.tick(20_000);
    assert.equal(stream.readyState, 2);
    assert.equal(streams.length, 1);
    sight.visibilityState = "visible";
    sight.told();
    assert.equal(streams[1]?.url, `/api/conversations/${C}/frames?after=9`);
  } finally {
    mock.timers.reset();
  }
});

test("texts that are sent while a reply is written wait, one behind the other", async () => {
  const { chat, stream } = await opened();
  stream.say(start("m2", "npc"), "8");
  let accept!: (answer: { status: number; body: unknown }) => void;
  answers.set(POST, new Promise((resolve) => (accept = resolve)));
  void chat.send("First", "enqueue");
  void chat.send("Second", "interrupt");
  await settled();
  const sent = () => requests.filter(({ method }) => method === "POST").map(({ body }) => [body.text, body.onBusy]);
  assert.deepEqual(sent(), [["First", "enqueue"]]);
  assert.deepEqual(chat.outbox.pending.map(({ text }) => text), ["First", "Second"]);
  accept({ status: 202, body: {} });
  await settled();
  assert.deepEqual(sent(), [["First", "enqueue"], ["Second", "interrupt"]]);
});

test("the same text said in another way is another request", async () => {
  const { chat } = await opened();
  answers.set(POST, "lost");
  await chat.send("Hello", "enqueue");
  await chat.send("Hello", "interrupt");
  const [first, other] = requests.filter(({ method }) => method === "POST");
  assert.notEqual(other!.key, first!.key);
});

/** A text that waits, as its frames tell it. */
/** Messages that wait stand from here on; what steers stands before, and belongs to the turn that it joins. */
const WAITING = 2 ** 40;

function waits(stream: FakeStream, id: string, position: number, text: string, turnId = `turn-${id}`): void {
  const begun = start(id, "player");
  assert.ok(begun.type === "start");
  const seq = position % (WAITING / 2);
  stream.say({ ...begun, turnId, message: { ...begun.message, position, status: "queued" } }, String(seq));
  stream.say({ type: "part", messageId: id, index: 0, part: { type: "text", text } }, String(seq + 1));
  const turn = { id: turnId, state: "queued" } as const;
  stream.say({ type: "finish", messageId: id, status: "queued", finishReason: null, usage: null, turn, conversation: STAMP }, String(seq + 2));
}

const ids = (entries: readonly { id: string }[]): string[] => entries.map(({ id }) => id);

test("what waits stands apart from what was said, and what steers comes first", async () => {
  const { chat, stream } = await opened();
  stream.say(start("m2", "npc"), "8");
  waits(stream, "q1", WAITING + 10, "Later");
  waits(stream, "q2", WAITING / 2 + 20, "Now", T);
  assert.deepEqual(chat.waiting.map((entry) => chat.steers(entry)), [true, false]);
  assert.deepEqual(ids(chat.said), ["m2"]);
  assert.deepEqual(ids(chat.waiting), ["q2", "q1"]);

  // It is taken up, in its place.
  stream.say(start("q2", "player"), "30");
  assert.deepEqual(ids(chat.waiting), ["q1"]);
});

test("the commands for what waits name it", async () => {
  const { chat } = await opened();
  answers.set("PATCH /api/messages/q1", { status: 204, body: null });
  answers.set("DELETE /api/messages/q1", { status: 204, body: null });
  answers.set(`POST /api/conversations/${C}/queue/resume`, { status: 202, body: {} });
  assert.equal(await chat.edit("q1", "Other"), true);
  assert.deepEqual(requests.at(-1)!.body, { text: "Other" });
  await chat.withdraw("q1");
  await chat.resume();
  assert.deepEqual(requests.slice(-3).map(({ method, path }) => `${method} ${path}`), [
    "PATCH /api/messages/q1",
    "DELETE /api/messages/q1",
    `POST /api/conversations/${C}/queue/resume`,
  ]);
});

test("an edit without an answer is tried again under its key, and one that was taken is done with", async () => {
  const { chat } = await opened();
  const patch = "PATCH /api/messages/m1";
  answers.set(patch, "lost");
  assert.equal(await chat.edit("m1", "Other"), false);
  assert.equal(chat.trouble?.code, "NETWORK");
  answers.set(patch, { status: 202, body: {} });
  assert.equal(await chat.edit("m1", "Other"), true);
  assert.equal(await chat.edit("m1", "Other"), true);
  const [lost, again, later] = requests.filter(({ method }) => method === "PATCH").map(({ key }) => key);
  assert.equal(again, lost);
  assert.notEqual(later, lost);
});

test("after a reply was made anew its variants are asked for, and another is chosen by its id", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { chat, stream } = await opened();
    const begun = start("m3", "npc");
    assert.ok(begun.type === "start");
    stream.say({ ...begun, supersedes: ["m2"] }, "8");
    assert.equal(chat.variants.place("m3"), null);
    const page = { items: [{ ...entryLike("m3", "npc", "complete"), variantCount: 2 }], next: null, cursor: 9, turn: null };
    answers.set(`GET /api/conversations/${C}/messages?limit=200`, { status: 200, body: page });
    const asked = requests.length;
    const turn = { id: T, state: "ended" } as const;
    stream.say({ type: "finish", messageId: "m3", status: "complete", finishReason: "stop", usage: null, turn, conversation: STAMP }, "9");
    stream.say({ type: "part", messageId: "m3", index: 1, part: { type: "notice", code: "TITLE_CHANGED", text: "" } }, "10");
    mock.timers.tick(1000);
    await settled();
    assert.equal(requests.length, asked + 1, "once for all that happens together");
    assert.deepEqual(chat.variants.place("m3"), { at: null, of: 2 });

    const both = { items: [entryLike("m2", "npc", "superseded"), entryLike("m3", "npc", "complete")], next: null };
    answers.set("GET /api/messages/m3/variants", { status: 200, body: both });
    await chat.variants.look("m3");
    assert.deepEqual(chat.variants.place("m3"), { at: 2, of: 2 });
    answers.set("POST /api/messages/m2/select", { status: 204, body: null });
    await chat.turn("m3", -1);
    assert.equal(requests.at(-1)!.path, "/api/messages/m2/select");
    assert.deepEqual(chat.variants.place("m2"), { at: 1, of: 2 }, "known from the same answer");
  } finally {
    mock.timers.reset();
  }
});

test("a server that was put back to an older backup has the transcript loaded anew", async () => {
  const { chat, stream } = await opened();
  stream.say(start("m2", "npc"), "8");
  stream.say(start("m9", "npc"), "3");
  await settled();
  assert.deepEqual(chat.transcript.entries, []);
  assert.equal(streams.length, 2);
  assert.equal(stream.readyState, 2);
});

function entryLike(id: string, role: "player" | "npc", status: string) {
  const { turnId, message, hop } = start(id, role) as Frame & { type: "start" };
  return { ...message, conversationId: C, turnId, hop, text: "", parts: [], status, finishReason: null, usage: null, error: null, variantCount: 1 };
}

/** Lets what was awaited go on, without any timer. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
}

test("going on asks for no hand-overs of its own, or for as many as the Player said", async () => {
  const path = `POST /api/conversations/${C}/continue`;
  answers.set(path, ACCEPTED);
  const { chat } = await opened();
  await chat.goOn(null);
  await chat.goOn(3);
  const bodies = requests.filter((request) => `${request.method} ${request.path}` === path).map(({ body }) => body);
  assert.deepEqual(bodies, [{}, { hops: 3 }]);
  answers.set(path, { status: 400, body: { error: { code: "NOTHING_TO_CONTINUE", message: "no", requestId: "r" } } });
  await chat.goOn(null);
  assert.equal(chat.trouble?.code, "NOTHING_TO_CONTINUE");
});

test("a word on a call that comes too late is told to who said it, and is no trouble of the whole chat", async () => {
  const path = `POST /api/conversations/${C}/approvals`;
  answers.set(path, { status: 204, body: null });
  const { chat } = await opened();
  assert.equal(await chat.decide({ toolCallId: "a", decision: "approve", input: { n: 1 } }), null);
  answers.set(path, { status: 409, body: { error: { code: "NOT_AWAITING", message: "late", requestId: "r" } } });
  assert.deepEqual(await chat.decide({ toolCallId: "a", decision: "deny" }), { message: "That was decided already.", code: "NOT_AWAITING" });
  assert.equal(chat.trouble, null);
  const bodies = requests.filter((request) => `${request.method} ${request.path}` === path).map(({ body }) => body);
  assert.deepEqual(bodies, [{ toolCallId: "a", decision: "approve", input: { n: 1 } }, { toolCallId: "a", decision: "deny" }]);
});
