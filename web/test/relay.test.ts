// Several tabs on one Conversation that is read once: whatever they have loaded, whenever they come, and however the
// stream is cut and merged, each ends with the server's transcript (promise 6).

import assert from "node:assert/strict";
import { test } from "node:test";
import { Transcript } from "../src/fold";
import type { Unfinished } from "../src/stream/words";
import { Groups } from "../src/worker/groups";
import { Relay, type Listener } from "../src/worker/relay";
import type { Frame } from "../src/wire";
import { PlayedConversation } from "./played/conversation";

const C = "01890000-0000-7000-8000-0000000000c0";

class PlayedTab implements Listener {
  transcript: Transcript;
  cursor: number;
  heard: Frame[] = [];

  constructor(conversation: PlayedConversation) {
    const page = conversation.page();
    this.transcript = Transcript.of(page.items);
    this.cursor = page.cursor;
  }

  hand(frames: Frame[]): void {
    // As through a port: nothing is shared.
    for (const frame of structuredClone(frames)) {
      this.heard.push(frame);
      this.transcript.fold(frame);
    }
  }

  unfinished(): Unfinished[] {
    return structuredClone(this.transcript.unfinished(C));
  }
}

/** What the relay is told of a stream that was opened where it stands. */
function pour(relay: Relay, events: { id: number; frame: Frame }[]): void {
  const groups = new Groups(new Map([[C, relay.head]]));
  for (const { id, frame } of events) {
    const told = groups.take({ id: `${C}:${id}`, data: JSON.stringify(frame) });
    if (told?.kind === "group") relay.take(told.group);
    else assert.equal(told, null);
  }
}

function saying(...words: string[]): PlayedConversation {
  const said = new PlayedConversation(C);
  said.start("m1", "npc");
  for (const word of words) said.text("m1", word);
  return said;
}

const texts = (frames: Frame[]): string[] =>
  frames.map((frame) => (frame.type === "part" && frame.part.type === "text" ? frame.part.text : frame.type));

function check(tab: PlayedTab, said: PlayedConversation, how = ""): void {
  assert.deepEqual(plain(tab.transcript), plain(said.transcript()), how);
}

const plain = (transcript: Transcript): unknown => JSON.parse(JSON.stringify(transcript.entries));

test("a tab that stands where the stream stands gets the pieces and nothing else", () => {
  const said = saying("a", "b");
  const tab = new PlayedTab(said);
  const relay = new Relay(tab.cursor, tab.unfinished());
  assert.equal(relay.join(tab, tab.unfinished()), false);
  said.text("m1", "c");
  pour(relay, said.read(relay.head, 1));
  assert.deepEqual(texts(tab.heard), ["c"]);
  check(tab, said);
});

test("a tab that loaded more than was streamed is not told it again", () => {
  const said = saying("a");
  const first = new PlayedTab(said);
  const relay = new Relay(first.cursor, first.unfinished());
  relay.join(first, first.unfinished());
  said.text("m1", "b");
  const ahead = new PlayedTab(said);
  relay.join(ahead, ahead.unfinished());
  said.text("m1", "c");
  pour(relay, said.read(relay.head, 1));
  assert.deepEqual(texts(first.heard), ["b", "c"]);
  assert.deepEqual(texts(ahead.heard), ["c"]);
  check(ahead, said);
});

test("a piece of which a tab has the first half is given with its whole reply", () => {
  const said = saying("a");
  const first = new PlayedTab(said);
  const relay = new Relay(first.cursor, first.unfinished());
  relay.join(first, first.unfinished());
  said.text("m1", "b");
  const between = new PlayedTab(said);
  relay.join(between, between.unfinished());
  said.text("m1", "c");
  pour(relay, said.read(relay.head, 2));
  assert.deepEqual(texts(first.heard), ["bc"]);
  assert.deepEqual(texts(between.heard), ["start", "abc"]);
  check(between, said);
});

test("a tab that loaded less than was streamed gets the running reply whole, without another stream", () => {
  const said = saying("a");
  const late = new PlayedTab(said);
  const first = new PlayedTab(said);
  const relay = new Relay(first.cursor, first.unfinished());
  relay.join(first, first.unfinished());
  said.text("m1", "b");
  pour(relay, said.read(relay.head, 1));
  assert.equal(relay.join(late, late.unfinished()), false);
  assert.deepEqual(texts(late.heard), ["start", "ab"]);
  said.text("m1", "c");
  pour(relay, said.read(relay.head, 1));
  assert.deepEqual(texts(late.heard).slice(2), ["c"]);
  check(late, said);
  check(first, said);
});

test("what was handed on does not change while the reply grows", () => {
  const said = saying("a");
  const late = new PlayedTab(said);
  const first = new PlayedTab(said);
  const relay = new Relay(first.cursor, first.unfinished());
  relay.join(first, first.unfinished());
  said.text("m1", "b");
  pour(relay, said.read(relay.head, 1));
  const kept: Frame[] = [];
  relay.join({ cursor: late.cursor, hand: (frames) => kept.push(...frames) }, late.unfinished());
  said.text("m1", "c");
  pour(relay, said.read(relay.head, 1));
  assert.deepEqual(texts(kept), ["start", "ab", "c"]);
});

test("a tab from before a Message that has ended has the stream opened at its cursor, and nobody hears anything twice", () => {
  const said = saying("a");
  const late = new PlayedTab(said);
  const first = new PlayedTab(said);
  const relay = new Relay(first.cursor, first.unfinished());
  relay.join(first, first.unfinished());
  said.text("m1", "b");
  said.finish("m1");
  pour(relay, said.read(relay.head, 1));
  const heard = first.heard.length;
  assert.equal(relay.join(late, late.unfinished()), true);
  assert.equal(relay.head, late.cursor);
  said.forget();
  pour(relay, said.read(relay.head, 9));
  check(late, said);
  assert.equal(first.heard.length, heard);
});

test("a Message that was cut in the middle of its replay comes once", () => {
  const said = saying("a");
  const tab = new PlayedTab(said);
  const relay = new Relay(tab.cursor, tab.unfinished());
  relay.join(tab, tab.unfinished());
  said.text("m1", "b");
  said.finish("m1");
  said.forget();
  const replay = said.read(relay.head, 9);
  pour(relay, replay.slice(0, 2));
  assert.deepEqual(tab.heard, []);
  pour(relay, replay);
  assert.deepEqual(texts(tab.heard), ["start", "ab", "finish"]);
});

test("a queued Message that was edited while a tab loaded is shown as it is now", () => {
  const said = saying("a");
  said.start("q1", "player", "queued", [], 1000);
  said.text("q1", "Wait");
  said.finish("q1", "queued");
  const late = new PlayedTab(said);
  const first = new PlayedTab(said);
  const relay = new Relay(first.cursor, first.unfinished());
  relay.join(first, first.unfinished());
  said.start("q1", "player", "queued", [], 1000);
  said.text("q1", "Wait for me");
  said.finish("q1", "queued");
  pour(relay, said.read(relay.head, 1));
  assert.equal(relay.join(late, late.unfinished()), false);
  check(late, said);
});

test("what is no transcript is told to who watches the Message it is about", () => {
  const said = saying("a");
  const tab = new PlayedTab(said);
  const relay = new Relay(tab.cursor, tab.unfinished());
  relay.join(tab, tab.unfinished());
  relay.aside({ type: "error", turnId: "t", messageId: "m1", code: "STORE_UNAVAILABLE", message: "", kind: "store", retryable: true });
  assert.deepEqual(texts(tab.heard), ["error"]);
});

test("any order of words, tabs, cuts and merges ends the same for all", () => {
  for (let seed = 1; seed <= 200; seed += 1) play(seed);
});

/** A Conversation in which everything happens at random, with tabs that come and go. */
function play(seed: number): void {
  const random = randoms(seed);
  const said = new PlayedConversation(C);
  const tabs: PlayedTab[] = [];
  const loading: PlayedTab[] = [];
  let relay: Relay | null = null;
  let running: string | null = null;
  const queued: string[] = [];
  let ids = 0;

  const speak = (): void => {
    if (running === null) {
      const last = said.transcript().entries.at(-1);
      const supersedes = last?.status === "complete" && last.role === "npc" && random() < 0.3 ? [last.id] : [];
      running = `m${(ids += 1)}`;
      said.start(running, "npc", "running", supersedes);
      return;
    }
    const chance = random();
    if (chance < 0.6) {
      const left = said.transcript().unfinished(C)[0]?.start.supersedes ?? [];
      for (const id of left) said.finish(id, "superseded");
      said.text(running, ` ${(ids += 1)}`);
    } else if (chance < 0.7) said.skip();
    else if (chance < 0.75) said.error(running, "PROVIDER_ERROR");
    else if (chance < 0.85) {
      said.finish(running);
      running = null;
    } else if (chance < 0.93 || queued.length === 0) {
      const id = random() < 0.5 && queued[0] ? queued[0] : `q${(ids += 1)}`;
      if (!queued.includes(id)) queued.push(id);
      said.start(id, "player", "queued", [], 1000 + ids);
      said.text(id, `queued ${ids}`);
      said.finish(id, "queued");
    } else {
      said.finish(queued.shift()!, "withdrawn");
    }
  };

  const stream = (all: boolean): void => {
    if (!relay) return;
    const events = said.read(relay.head, 1 + Math.floor(random() * 4));
    // A connection is cut anywhere; what is read next is read behind the last id.
    pour(relay, all ? events : events.slice(0, Math.floor(random() * (events.length + 1))));
  };

  const join = (tab: PlayedTab): void => {
    relay ??= new Relay(tab.cursor, tab.unfinished());
    relay.join(tab, tab.unfinished());
    tabs.push(tab);
  };

  for (let step = 0; step < 80; step += 1) {
    const chance = random();
    if (chance < 0.05) said.forget();
    else if (chance < 0.5) speak();
    else if (chance < 0.65) loading.push(new PlayedTab(said));
    else if (chance < 0.75 && loading.length > 0) join(loading.splice(Math.floor(random() * loading.length), 1)[0]!);
    else if (chance < 0.8 && tabs.length > 0) {
      // It slept, was let go, and comes back where it was.
      const [tab] = tabs.splice(Math.floor(random() * tabs.length), 1);
      relay!.leave(tab!);
      if (relay!.listeners.size === 0) relay = null;
      loading.push(tab!);
    } else stream(false);
  }
  for (const tab of loading) join(tab);
  stream(true);
  tabs.forEach((tab, n) => check(tab, said, `seed ${seed}, tab ${n}`));
}

function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
