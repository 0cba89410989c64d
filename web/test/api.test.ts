// How the API is asked: lists page by page, files as what they are.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { all, api, call } from "../src/api";

const realFetch = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = realFetch;
});

interface Asked {
  path: string;
  type: string | undefined;
  body: unknown;
}

/** Answers each path with what is written for it, and says what was asked. */
function answering(answer: (path: string) => unknown): Asked[] {
  const asked: Asked[] = [];
  const fake = async (path: string, { headers, body }: { headers: Record<string, string>; body?: unknown }) => {
    asked.push({ path, type: headers["content-type"], body });
    return new Response(JSON.stringify(answer(path)));
  };
  globalThis.fetch = fake as unknown as typeof fetch;
  return asked;
}

test("a list is read to its end, and what it is asked for stays in every question", async () => {
  const asked = answering((path) => (path.includes("after=") ? { items: [3], next: null } : { items: [1, 2], next: "a/b=" }));
  assert.deepEqual(await all("/api/skills?npcId=n"), [1, 2, 3]);
  assert.deepEqual(
    asked.map(({ path }) => path),
    ["/api/skills?npcId=n&limit=200", "/api/skills?npcId=n&limit=200&after=a%2Fb%3D"],
  );
});

test("a list that never ends is not read for ever", async () => {
  const asked = answering(() => ({ items: [1], next: "again" }));
  assert.equal((await api.npcs()).length, asked.length);
  assert.ok(asked.length <= 10, `${asked.length} questions`);
});

test("a file is sent as what it is, all else as JSON", async () => {
  const asked = answering(() => ({}));
  const file = new Blob(["PK"]);
  await call("POST", "/api/skills", file, { "content-type": "application/zip" });
  await call("PUT", "/api/npcs/n/grants", [{ tool: "a" }]);
  assert.deepEqual(asked, [
    { path: "/api/skills", type: "application/zip", body: file },
    { path: "/api/npcs/n/grants", type: "application/json", body: '[{"tool":"a"}]' },
  ]);
});
