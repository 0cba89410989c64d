// Tabs and the worker that reads for all of them, joined by ports that are played here, against a server that is played
// too: one stream, whatever tabs do, and nothing lost or doubled for any of them (promises 6 and 9).

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { onSignedOut } from "../src/api";
import { Transcript } from "../src/fold";
import { Link, type Worker } from "../src/stream/link";
import type { ToTab, ToWorker } from "../src/stream/words";
import { Hub } from "../src/worker/hub";
import type { Port } from "../src/worker/tab";
import { PlayedConversation } from "./played/conversation";
import { PlayedServer } from "./played/server";

const [A, B] = ["01890000-0000-7000-8000-0000000000aa", "01890000-0000-7000-8000-0000000000bb"];

let server: PlayedServer;
let hub: Hub;

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  server = new PlayedServer();
  Object.assign(globalThis, { fetch: server.fetch });
  mock.method(Math, "random", () => 0.5);
  hub = new Hub();
});
afterEach(() => {
  mock.timers.reset();
  mock.restoreAll();
});

/** Lets time pass, and everything happen that follows from it. */
async function pass(milliseconds: number): Promise<void> {
  await settled();
  // In steps, so that whoever is asked in between can answer.
  for (let left = milliseconds; left >= 0; left -= STEP) {
    mock.timers.tick(Math.min(left, STEP));
    await settled();
  }
}
const STEP = 4_000;

async function settled(): Promise<void> {
  for (let n = 0; n < 30; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** What goes between one tab and the worker. A tab that is frozen reads nothing until it thaws. */
class PlayedPorts {
  tab: Worker["port"];
  worker: Port;
  frozen = false;
  dead = false;
  #waiting: ToTab[] = [];

  constructor() {
    this.tab = { postMessage: (word) => this.#post(() => this.worker.onmessage?.({ data: structuredClone(word) } as MessageEvent<ToWorker>)), onmessage: null, close: () => undefined };
    this.worker = { postMessage: (word) => this.#deliver(structuredClone(word)), onmessage: null, close: () => undefined };
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  thaw(): void {
    this.frozen = false;
    for (const word of this.#waiting.splice(0)) this.#deliver(word);
  }

  #post(run: () => void): void {
    if (!this.dead) queueMicrotask(run);
  }

  #deliver(word: ToTab): void {
    if (this.frozen || this.dead) this.#waiting.push(word);
    else queueMicrotask(() => this.tab.onmessage?.({ data: word } as MessageEvent<ToTab>));
  }
}

/** A tab with one Conversation open. */
class PlayedTab {
  ports: PlayedPorts[] = [];
  workers: Worker[] = [];
  transcript: Transcript;
  heard = 0;
  connected: boolean[] = [];
  gone = 0;
  stale = 0;
  alone: number | null = null;
  broken = 0;
  link: Link;
  watch: { close(): void };

  constructor(
    readonly said: PlayedConversation,
    private reached: (ports: PlayedPorts) => void = (ports) => hub.enter(ports.worker),
  ) {
    const page = said.page();
    this.transcript = Transcript.of(page.items);
    this.link = new Link(
      () => this.#start(),
      () => (this.broken += 1),
    );
    this.watch = this.open(said.id, page.cursor);
  }

  get port(): PlayedPorts {
    return this.ports.at(-1)!;
  }

  open(id: string, cursor: number): { close(): void } {
    const reader = {
      frame: (frame: Parameters<Transcript["fold"]>[0]) => {
        this.heard += 1;
        this.transcript.fold(frame);
      },
      connected: (yes: boolean) => void this.connected.push(yes),
      gone: () => void (this.gone += 1),
      stale: () => void (this.stale += 1),
      busy: () => false,
      unfinished: () => this.transcript.unfinished(id),
    };
    return this.link.watch(id, cursor, reader, (from) => (this.alone = from));
  }

  check(): void {
    assert.deepEqual(JSON.parse(JSON.stringify(this.transcript.entries)), JSON.parse(JSON.stringify(this.said.transcript().entries)));
  }

  #start(): Worker {
    const ports = new PlayedPorts();
    this.ports.push(ports);
    const worker = { port: ports.tab, onerror: null };
    this.workers.push(worker);
    queueMicrotask(() => this.reached(ports));
    return worker;
  }
}

function conversation(id: string): PlayedConversation {
  const said = new PlayedConversation(id);
  said.start("m1", "npc");
  said.text("m1", "Once");
  server.add(said);
  return said;
}

const tabs = (count: number, said: PlayedConversation): PlayedTab[] => Array.from({ length: count }, () => new PlayedTab(said));

test("ten tabs on one Conversation and ten on another are one request", async () => {
  const [a, b] = [conversation(A), conversation(B)];
  const all = [...tabs(10, a), ...tabs(10, b)];
  await pass(100);
  a.text("m1", " upon");
  b.text("m1", " more");
  server.tell();
  await pass(0);
  assert.equal(server.asked, 1);
  for (const tab of all) {
    tab.check();
    assert.equal(tab.heard, 1);
  }
});

test("a tab that comes later opens the stream anew, and the others lose and hear twice nothing", async () => {
  const [a, b] = [conversation(A), conversation(B)];
  const first = new PlayedTab(a);
  await pass(100);
  a.text("m1", " upon");
  server.tell();
  const other = new PlayedTab(b);
  // On its way when the stream is cut: it comes in the next one.
  a.text("m1", " a");
  server.tell();
  await pass(100);
  b.text("m1", " more");
  server.tell();
  await pass(0);
  assert.equal(server.open.length, 1);
  assert.deepEqual([...server.open[0]!.cursors.keys()], [A, B]);
  first.check();
  other.check();
  assert.equal(first.heard, 2);
});

test("tabs that come one after the other do not put the stream off for ever", async () => {
  const all: PlayedTab[] = [];
  for (let n = 0; n < 6; n += 1) {
    all.push(new PlayedTab(conversation(`01890000-0000-7000-8000-${String(n).padStart(12, "0")}`)));
    await pass(15);
  }
  assert.ok(server.asked >= 2, `${server.asked} asked`);
  assert.equal(server.open.length, 1);
});

test("a tab further back does not make the old stream tell what lies between", async () => {
  const a = conversation(A);
  const late = new PlayedTab(a, () => undefined);
  const first = new PlayedTab(a);
  await pass(100);
  a.finish("m1");
  a.start("m2", "npc");
  server.tell();
  await pass(0);
  late.link.connect();
  hub.enter(late.port.worker);
  // On its way in the old stream while the late tab says from where it reads.
  a.text("m2", "on");
  server.tell();
  await pass(100);
  server.tell();
  await pass(0);
  first.check();
  late.check();
});

test("nobody left is no stream", async () => {
  const [a, b] = [conversation(A), conversation(B)];
  const [first, second] = [new PlayedTab(a), new PlayedTab(b)];
  await pass(100);
  first.watch.close();
  await pass(100);
  assert.deepEqual([...server.open[0]!.cursors.keys()], [B]);
  second.link.say({ say: "bye" });
  await pass(100);
  assert.equal(server.open.length, 0);
});

test("a stream that breaks in the middle of a replayed Message goes on without gap or double", async () => {
  const a = conversation(A);
  const tab = new PlayedTab(a);
  await pass(100);
  a.finish("m1");
  a.forget();
  const [start, part] = a.read(2, 1);
  const stream = server.open[0]!;
  stream.write(`id: ${A}:2\ndata: ${JSON.stringify(start!.frame)}\n\nid: ${A}:2\ndata: ${JSON.stringify(part!.frame)}\n\nid: ${A}:3\nda`);
  await pass(0);
  assert.equal(tab.heard, 0);
  stream.fail();
  await pass(0);
  assert.deepEqual(tab.connected, [true, false]);
  await pass(500);
  assert.deepEqual([...server.open[0]!.cursors], [[A, 2]]);
  server.tell();
  await pass(0);
  tab.check();
  assert.deepEqual(tab.connected, [true, false, true]);
});

test("while the server is away pauses grow, and end when somebody looks", async () => {
  const a = conversation(A);
  const tab = new PlayedTab(a);
  server.network = { kind: "down" };
  await pass(20);
  const pauses = [500, 1000, 2000, 4000, 8000, 15_000, 15_000];
  for (const [n, pause] of pauses.entries()) {
    await pass(pause - 1);
    assert.equal(server.asked, n + 1);
    await pass(1);
    assert.equal(server.asked, n + 2);
  }
  server.network = { kind: "stream" };
  tab.link.say({ say: "hurry" });
  await pass(0);
  await pass(20);
  assert.equal(tab.connected.at(-1), true);
});

test("a server that asks for a pause gets it", async () => {
  const a = conversation(A);
  new PlayedTab(a);
  await pass(100);
  server.open[0]!.write("retry: 3210\n\n");
  await pass(0);
  server.open[0]!.end();
  await pass(0);
  await pass(3209);
  assert.equal(server.asked, 1);
  server.network = { kind: "status", status: 503, headers: { "retry-after": "7" } };
  await pass(1);
  assert.equal(server.asked, 2);
  await pass(6999);
  assert.equal(server.asked, 2);
  await pass(1);
  assert.equal(server.asked, 3);
});

test("a connection that is dead though it looks open is given up", async () => {
  const a = conversation(A);
  const tab = new PlayedTab(a);
  await pass(100);
  for (let n = 0; n < 5; n += 1) {
    await pass(15_000);
    server.open[0]!.write(":\n\n");
    await pass(0);
  }
  assert.equal(server.asked, 1);
  await pass(45_000);
  await pass(500);
  assert.equal(server.asked, 2);
  a.text("m1", " upon");
  server.tell();
  await pass(0);
  tab.check();
});

test("a Conversation that is deleted is gone for its tabs, and only for them", async () => {
  const [a, b] = [conversation(A), conversation(B)];
  const [first, second] = [new PlayedTab(a), new PlayedTab(b)];
  await pass(100);
  server.open[0]!.gone(A);
  await pass(0);
  assert.deepEqual([first.gone, second.gone], [1, 0]);
  b.text("m1", " more");
  server.tell();
  await pass(0);
  second.check();
  assert.equal(server.asked, 1);
});

test("when none of them is there any more, all are gone and nothing is asked again", async () => {
  const a = conversation(A);
  server.network = { kind: "status", status: 404 };
  const tab = new PlayedTab(a);
  await pass(100);
  await pass(60_000);
  assert.equal(tab.gone, 1);
  assert.equal(server.asked, 1);
});

test("who is signed out is told so in every tab, and nothing is asked again", async () => {
  let told = 0;
  const stop = onSignedOut(() => (told += 1));
  const all = tabs(3, conversation(A));
  await pass(100);
  server.network = { kind: "status", status: 401 };
  all[0]!.link.say({ say: "again" });
  await pass(0);
  await pass(20);
  assert.equal(told, 3);
  await pass(60_000);
  assert.equal(server.asked, 2);
  stop();
});

test("a server that was put back to an older backup has the transcript loaded anew", async () => {
  const a = conversation(A);
  const tab = new PlayedTab(a);
  await pass(100);
  server.open[0]!.write(`id: ${A}:1\ndata: ${JSON.stringify(a.read(0, 1)[0]!.frame)}\n\n`);
  await pass(0);
  assert.equal(tab.stale, 1);
  assert.equal(tab.heard, 0);
});

test("a frozen tab holds up nobody, has a bounded heap of words, and catches up", async () => {
  const a = conversation(A);
  const [frozen, other] = [new PlayedTab(a), new PlayedTab(a)];
  await pass(100);
  frozen.port.frozen = true;
  for (let n = 0; n < 400; n += 1) {
    a.text("m1", ` ${n}`);
    server.tell();
    await pass(0);
  }
  other.check();
  assert.equal(other.heard, 400);
  assert.ok(frozen.port.waiting <= 130, `${frozen.port.waiting} words wait`);
  frozen.port.thaw();
  await pass(0);
  a.text("m1", " more");
  server.tell();
  await pass(0);
  frozen.check();
  assert.equal(server.asked, 1, "the running reply was at hand");
});

test("what a tab asks for while it is being let go is asked for once", async () => {
  const a = conversation(A);
  const tab = new PlayedTab(a);
  await pass(100);
  tab.port.frozen = true;
  await pass(20_000);
  // The word that it was let go is on its way; so is the wish for another watch.
  tab.watch.close();
  const page = a.page();
  tab.transcript = Transcript.of(page.items);
  tab.open(A, page.cursor);
  await pass(100);
  a.text("m1", " more");
  a.finish("m1");
  server.tell();
  await pass(0);
  tab.port.thaw();
  await pass(100);
  server.tell();
  await pass(0);
  tab.check();
});

test("a tab that crashed is not read for any longer", async () => {
  const [a, b] = [conversation(A), conversation(B)];
  const [crashed, other] = [new PlayedTab(a), new PlayedTab(b)];
  await pass(100);
  crashed.port.dead = true;
  await pass(20_000);
  await pass(100);
  assert.deepEqual([...server.open[0]!.cursors.keys()], [B]);
  b.text("m1", " more");
  server.tell();
  await pass(0);
  other.check();
});

test("a worker that fell silent is replaced, and the tab goes on where it was", async () => {
  const a = conversation(A);
  const tab = new PlayedTab(a);
  await pass(100);
  a.text("m1", " upon");
  server.tell();
  await pass(0);
  tab.port.dead = true;
  hub = new Hub();
  await pass(30_000);
  await pass(100);
  assert.equal(tab.ports.length, 2);
  a.text("m1", " a");
  server.tell();
  await pass(0);
  tab.check();
  assert.equal(tab.heard, 2);
});

test("a worker that does not start leaves the tab to itself, at the cursor where it was", async () => {
  const a = conversation(A);
  const never = new PlayedTab(a, () => undefined);
  const refused = new PlayedTab(a, () => undefined);
  await pass(0);
  refused.workers[0]!.onerror?.({} as ErrorEvent);
  assert.deepEqual([refused.alone, refused.broken], [2, 1]);
  assert.equal(never.alone, null);
  await pass(10_000);
  assert.deepEqual([never.alone, never.broken], [2, 1]);
});

test("beyond what one stream may watch, tabs read for themselves", async () => {
  const all = Array.from({ length: 101 }, (_, n) => new PlayedTab(conversation(`01890000-0000-7000-8000-${String(n).padStart(12, "0")}`)));
  await pass(100);
  assert.deepEqual(all.filter((tab) => tab.alone !== null), [all[100]]);
  assert.equal(server.open[0]!.cursors.size, 100);
});
