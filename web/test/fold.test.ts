// Runs the specification of the fold, tests/fold/*.json, against the browser's half (promise 5), and what is said of it
// beyond single cases: any cut with a replay, any cutting of the text, and a cost that grows with the deltas alone.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Transcript } from "../src/fold";
import type { Frame, Message } from "../src/wire";

interface Case {
  name: string;
  why: string;
  messages?: Message[];
  frames: Frame[];
  replay?: Frame[];
  transcript: unknown;
  title?: string | null;
}

const folder = process.env.HAMLET_FOLD_CASES!;
const cases: Case[] = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .sort()
  .map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")));

function check(given: Case, frames: Frame[], how: string): void {
  const before = JSON.stringify(frames);
  const transcript = Transcript.of(given.messages ?? []);
  for (const frame of frames) transcript.fold(frame);
  // Through JSON, as the engine compares it: an undefined field would be a difference that only one of them sees.
  assert.deepEqual(JSON.parse(JSON.stringify(transcript.entries)), given.transcript, how);
  assert.equal(transcript.title, given.title ?? null, how);
  assert.equal(JSON.stringify(frames), before, "the fold leaves the frames as they came");
}

test("there is a specification to run", () => assert.ok(cases.length >= 20));

for (const given of cases) {
  test(given.name, () => {
    check(given, given.frames, "its frames");
    check(given, given.frames.flatMap(finest), "cut into single characters");
    for (let cut = 0; given.replay && cut <= given.frames.length; cut += 1) {
      check(given, [...given.frames.slice(0, cut), ...given.replay], `cut after ${cut} frames and replayed`);
    }
  });
}

test("a reply of 400,000 deltas costs little more per delta than one of 40,000", () => {
  const cost = (deltas: number): number => {
    const [start] = cases.flatMap((given) => given.frames).filter((frame) => frame.type === "start");
    assert.ok(start?.type === "start");
    const transcript = new Transcript();
    transcript.fold(start);
    const began = performance.now();
    for (let n = 0; n < deltas; n += 1) {
      transcript.fold({ type: "part", messageId: start.message.id, index: 0, part: { type: "text", text: "word " } });
    }
    const took = performance.now() - began;
    const [part] = transcript.entries[0]!.parts;
    assert.ok(part?.type === "text" && part.text.length === deltas * 5);
    return took / deltas;
  };
  cost(40_000);
  const small = cost(40_000);
  // Generous, because a collection of garbage may fall into it; what is quadratic would be ten times dearer.
  assert.ok(cost(400_000) < small * 6 + 0.0005);
});

function finest(frame: Frame): Frame[] {
  if (frame.type !== "part" || frame.part.type !== "text" || frame.part.text === "") return [frame];
  return Array.from(frame.part.text, (text) => ({ ...frame, part: { type: "text", text } }));
}
