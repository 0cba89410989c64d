// Whom an @ may mean while it is typed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { mentionable, mentioned } from "../src/mention";

const PARTY = [
  { id: "1", slug: "ann", name: "Ann" },
  { id: "2", slug: "ann-marie", name: "Ann Marie" },
  { id: "3", slug: "bo", name: "Bo" },
];
const found = (text: string, caret = text.length): string[] => mentionable(text, caret, PARTY).map(({ name }) => name);

test("what stands between the @ and the caret is the beginning of a name, of a word in it, or of a slug", () => {
  assert.deepEqual(found("@"), ["Ann", "Ann Marie", "Bo"]);
  assert.deepEqual(found("  @AN"), ["Ann", "Ann Marie"]);
  assert.deepEqual(found("@ann m"), ["Ann Marie"]);
  assert.deepEqual(found("@ann-"), ["Ann Marie"]);
  assert.deepEqual(found("@mar"), ["Ann Marie"]);
  assert.deepEqual(found("@Bo, hello", 2), ["Bo"]);
});

test("an @ elsewhere, a name that was typed to its end, and no name at all offer nobody", () => {
  for (const text of ["", "a", "mail me @bo", "@Bo ", "@Bo hello", "@x", "@\nbo", "@@"]) assert.deepEqual(found(text), [], text);
  assert.deepEqual(found("@Bo", 0), []);
});

test("a name in full replaces what was typed of it, and what stood behind stays", () => {
  assert.deepEqual(mentioned("@b", 2, "Bo"), { text: "@Bo ", caret: 4 });
  assert.deepEqual(mentioned("  @bhello", 4, "Bo"), { text: "@Bo hello", caret: 4 });
  assert.deepEqual(mentioned("@ hello", 1, "Ann Marie"), { text: "@Ann Marie hello", caret: 11 });
});
