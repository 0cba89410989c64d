// A Conversation as the server has it: numbered frames, what a transcript request answers, and what a stream gives a
// reader at any cursor, by the rules of docs/protocol.md. Finished Messages come whole with an id on the last frame;
// pieces of the running one come merged, as far as the reader is behind.

import { Transcript, type Entry } from "../../src/fold";
import type { Author, FinishFrame, Frame, Message, Role, StartFrame, Status } from "../../src/wire";

const WHO: Record<Role, Author> = {
  player: { kind: "player", id: "p", name: "Wren" },
  npc: { kind: "npc", id: "n", name: "Ada" },
};
const STAMP = { title: "Hello", updatedAt: "2026-03-01T12:00:00.000Z" };

interface Line {
  seq: number;
  frame: Frame;
}

export interface Event {
  id: number;
  frame: Frame;
}

export class PlayedConversation {
  seq = 0;
  #lines: Line[] = [];
  #positions = 0;
  /** What ended up to here is replayed whole. */
  #floor = 0;

  constructor(readonly id: string) {}

  /** Numbers are skipped now and then, as the server's are. */
  skip(): void {
    this.seq += 1;
  }

  start(id: string, role: Role, status: Status = "running", supersedes: string[] = [], position = (this.#positions += 1)): void {
    const message = { id, role, author: WHO[role], position, createdAt: STAMP.updatedAt, status };
    this.#add({ type: "start", conversationId: this.id, turnId: `turn-${id}`, message, hop: { count: 0, limit: 6 }, supersedes });
  }

  text(id: string, text: string): void {
    this.#add({ type: "part", messageId: id, index: 0, part: { type: "text", text } });
  }

  error(id: string, code: string): void {
    this.#add({ type: "error", turnId: `turn-${id}`, messageId: id, code, message: code, kind: "test", retryable: false });
  }

  finish(id: string, status: Status = "complete"): void {
    const state = status === "queued" ? "queued" : "ended";
    this.#add({
      type: "finish", messageId: id, status, finishReason: "stop", usage: null,
      turn: { id: `turn-${id}`, state }, conversation: STAMP,
    });
  }

  /** The transcript up to here, as `GET .../messages` answers it. */
  page(): { items: Message[]; cursor: number } {
    return { items: this.transcript().entries.map((entry) => messageOf(entry, this.id)), cursor: this.seq };
  }

  transcript(): Transcript {
    const transcript = new Transcript();
    for (const { frame } of this.#lines) transcript.fold(frame);
    return transcript;
  }

  /** The log was freed, or the process started again: it begins with the running Message, or now. */
  forget(): void {
    const [running] = this.transcript().unfinished(this.id);
    const began = this.#lines.findLast(({ frame }) => frame.type === "start" && frame.message.id === running?.start.message.id);
    this.#floor = began ? began.seq - 1 : this.seq;
  }

  /** What a reader gets that stands at the cursor; so many pieces become one at most. */
  read(cursor: number, merges: number): Event[] {
    const floor = this.#floor;
    const finishes = this.#lines.filter(({ frame }) => frame.type === "finish");
    const events: Event[] = [];
    let at = cursor;
    if (cursor < floor) {
      const last = new Map<string, number>();
      for (const { seq, frame } of finishes) last.set((frame as FinishFrame).messageId, seq);
      for (const [id, seq] of [...last].sort((a, b) => a[1] - b[1])) {
        if (seq <= cursor || seq > floor) continue;
        const frames = this.#replay(id, seq);
        frames.forEach((frame, n) => events.push({ id: n === frames.length - 1 ? seq : at, frame }));
        at = seq;
      }
      at = floor;
    }
    return [...events, ...this.#merged(at, merges)];
  }

  #merged(after: number, merges: number): Event[] {
    const events: Event[] = [];
    let pieces = 0;
    for (const { seq, frame } of this.#lines.filter((line) => line.seq > after)) {
      const last = events.at(-1);
      const same = last && last.frame.type === "part" && frame.type === "part" && last.frame.messageId === frame.messageId;
      if (same && pieces < merges && textOf(frame) !== null && textOf(last.frame) !== null) {
        const text = textOf(last.frame)! + textOf(frame)!;
        events[events.length - 1] = { id: seq, frame: { ...frame, part: { type: "text", text } } };
        pieces += 1;
      } else {
        events.push({ id: seq, frame });
        pieces = 1;
      }
    }
    return events;
  }

  #replay(id: string, upTo: number): Frame[] {
    const lines = this.#lines.filter(({ seq, frame }) => seq <= upTo && messageIn(frame) === id).map(({ frame }) => frame);
    const finish = lines.findLast((frame): frame is FinishFrame => frame.type === "finish")!;
    if (finish.status === "superseded" || finish.status === "withdrawn") return [finish];
    const began = lines.findLastIndex((frame) => frame.type === "start");
    const [start, ...rest] = lines.slice(began) as [StartFrame, ...Frame[]];
    const text = rest.map((frame) => (frame.type === "part" ? (textOf(frame) ?? "") : "")).join("");
    const error = rest.findLast((frame) => frame.type === "error");
    return [
      { ...start, supersedes: [] },
      ...(text === "" ? [] : [{ type: "part", messageId: id, index: 0, part: { type: "text", text } } as const]),
      ...(error ? [error] : []),
      finish,
    ];
  }

  #add(frame: Frame): void {
    this.seq += 1;
    this.#lines.push({ seq: this.seq, frame });
  }
}

function textOf(frame: Frame): string | null {
  return frame.type === "part" && frame.part.type === "text" ? frame.part.text : null;
}

function messageIn(frame: Frame): string {
  return frame.type === "start" ? frame.message.id : frame.messageId;
}

function messageOf(entry: Entry, conversationId: string): Message {
  return { ...structuredClone(entry), conversationId, text: "", variantCount: 1 };
}
