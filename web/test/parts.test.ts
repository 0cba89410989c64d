// How Parts are read for drawing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { argumentsIn, awaiting, brief, drawnParts, handOverOf, readable } from "../src/parts";
import type { Part, ToolCallPart, ToolResultPart } from "../src/wire";

const call = (toolCallId: string, state: ToolCallPart["state"] = "done"): ToolCallPart => ({
  type: "tool-call",
  toolCallId,
  name: "calculate",
  input: {},
  state,
  executor: "server",
});
const result = (toolCallId: string): ToolResultPart => ({
  type: "tool-result",
  toolCallId,
  name: "calculate",
  output: "42",
  isError: false,
  elapsedMs: 1,
});
const text = { type: "text", text: "hi" } as const;

test("a call is drawn with its result, wherever that stands, and each Part keeps its place", () => {
  const parts: Part[] = [call("a"), text, call("b"), result("b"), result("a"), result("c")];
  assert.deepEqual(drawnParts(parts), [
    { kind: "call", index: 0, call: call("a"), result: result("a") },
    { kind: "part", index: 1, part: text },
    { kind: "call", index: 2, call: call("b"), result: result("b") },
    { kind: "part", index: 5, part: result("c") },
  ]);
});

test("a call without a result yet is drawn without one", () => {
  assert.deepEqual(drawnParts([call("a", "running")]), [{ kind: "call", index: 0, call: call("a", "running"), result: null }]);
});

test("a changed title is no words of the reply, another notice is", () => {
  const notice = (code: string): Part => ({ type: "notice", code, text: "A walk" });
  assert.deepEqual(drawnParts([notice("TITLE_CHANGED"), notice("OTHER"), {}]), [
    { kind: "part", index: 1, part: notice("OTHER") },
    { kind: "part", index: 2, part: {} },
  ]);
});

test("only a result of the whole shape is a hand-over", () => {
  const inner = { npcId: "n", npc: "Bo", message: "go on" };
  assert.deepEqual(handOverOf({ handOver: inner }), { npc: "Bo", message: "go on", refused: null });
  assert.deepEqual(handOverOf({ handOver: inner, refused: "no" }), { npc: "Bo", message: "go on", refused: "no" });
  for (const output of [null, "handOver", 1, [], {}, { handOver: null }, { handOver: { npc: "Bo" } }, { handOver: { npc: 1, message: "x" } }]) {
    assert.equal(handOverOf(output), null, JSON.stringify(output));
  }
});

test("a call that waits for the Player's word is found among others", () => {
  assert.equal(awaiting([text, call("a"), call("b", "awaiting-approval")])?.toolCallId, "b");
  assert.equal(awaiting([text, call("a", "running"), {}]), undefined);
});

test("a value is told in one line, cut between characters, and whole", () => {
  assert.equal(brief({}), "");
  assert.equal(brief({ a: [1, "x\ny"] }), '{"a":[1,"x\\ny"]}');
  assert.equal(brief("a\n  b"), "a b");
  assert.equal(brief("🌻".repeat(8), 3), "🌻🌻🌻…");
  assert.equal(brief("abc", 3), "abc");
  assert.equal(brief(null), "null");
  assert.equal(readable("as it is"), "as it is");
  assert.equal(readable({ a: 1 }), '{\n  "a": 1\n}');
});

test("arguments are a JSON object and nothing else", () => {
  assert.deepEqual(argumentsIn(' {"a": 1} '), { a: 1 });
  for (const typed of ["", "{", "[]", "1", "null", '"a"', "{a: 1}"]) assert.equal(argumentsIn(typed), null, typed);
});
