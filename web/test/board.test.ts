import assert from "node:assert/strict";
import { test } from "node:test";
import { Board } from "../src/admin/board";
import type { Actor, ActorsEvent, ActorState } from "../src/admin/wire";
import { age, bytes, watchersOf } from "../src/admin/words";

const actor = (id: string, state: ActorState = "running"): Actor => ({
  conversationId: id,
  state,
  phase: null,
  turn: null,
  speaker: null,
  step: 0,
  hop: { count: 0, limit: 6 },
  queue: 0,
  mailbox: null,
  watchers: { count: 0, lags: [] },
  cursor: null,
  epoch: null,
  history: { messages: 0, tokens: 0 },
  summary: null,
  restarts: { recent: 0, total: 0 },
  lastError: null,
  memoryBytes: 0,
  lastActivity: null,
  player: null,
});

const event = (change: Partial<ActorsEvent>): ActorsEvent => ({
  items: [],
  next: null,
  counts: { total: 0, states: {} as ActorsEvent["counts"]["states"] },
  now: "2026-01-01T00:00:10.000Z",
  ...change,
});

const shown = (board: Board) => board.rows.map((row) => `${row.conversationId} ${row.state}`);

test("a page is shown in its order, and who is not named has left it", () => {
  const board = new Board();
  board.apply(event({ page: ["b", "a"], items: [actor("a"), actor("b")] }), 0);
  assert.deepEqual(shown(board), ["b running", "a running"]);
  board.apply(event({ items: [actor("a", "idle")] }), 0);
  assert.deepEqual(shown(board), ["b running", "a idle"]);
  board.apply(event({ page: ["c", "a"], items: [actor("c")] }), 0);
  assert.deepEqual(shown(board), ["c running", "a idle"]);
  assert.equal(board.row("b"), undefined);
});

test("an event that comes twice changes nothing", () => {
  const board = new Board();
  const twice = event({ page: ["a"], items: [actor("a")] });
  board.apply(twice, 0);
  board.apply(twice, 0);
  assert.deepEqual(shown(board), ["a running"]);
});

test("ages are told by the server's clock", () => {
  const board = new Board();
  const here = Date.parse("2026-01-01T00:00:00.000Z");
  board.apply(event({}), here);
  assert.equal(board.ahead, 10_000);
});

test("lengths of time, sizes and lags are words that fit", () => {
  assert.deepEqual([-5, 59_999, 60_000, 3_661_000, 200_000_000].map(age), ["0 s", "59 s", "1 min 0 s", "1 h 1 min", "2 d"]);
  assert.deepEqual([0, 1023, 1536, 20 << 20, 5 * 2 ** 40].map(bytes), ["0 B", "1023 B", "1.5 KiB", "20 MiB", "5120 GiB"]);
  assert.equal(watchersOf({ ...actor("a"), watchers: { count: 3, lags: [7, 0, 0] } }), "3, 7 behind");
  assert.equal(watchersOf({ ...actor("a"), watchers: { count: 2, lags: [0, 0] } }), "2");
});
