// One Conversation, read once for several tabs, each at a cursor of its own. Pure: no network, no ports, no time.
//
// The stream brings groups: a frame with an id, or a whole replayed Message of which only the last frame has one. A tab
// that stands where the stream stands gets a group as it is. One that stands elsewhere can not: the server merges pieces
// of a reply for a slow reader, and such a piece may begin before the tab's cursor and end behind it. So the relay folds
// what is not finished yet, and hands the whole Message instead, from its start: a start frame empties what a reader had.
//
// Finished Messages are not kept. A tab that stands before the last of those has the stream opened anew at its cursor,
// and the others pass over what they have.

import { foldPart } from "../fold";
import type { Unfinished } from "../stream/words";
import type { ErrorFrame, FinishFrame, Frame, Part, StartFrame } from "../wire";

/** Frames that belong together, and the cursor behind them. */
export interface Group {
  cursor: number;
  frames: Frame[];
}

/** A tab that reads this Conversation. */
export interface Listener {
  /** Everything up to here was handed to it, or it had that before. */
  cursor: number;
  hand(frames: Frame[]): void;
}

interface Open {
  start: StartFrame;
  parts: Part[];
  error: ErrorFrame | null;
  /** Of a Message that waits in the queue: it has ended for now, and will begin again. */
  finish: FinishFrame | null;
  /** Of the newest frame. */
  cursor: number;
}

export class Relay {
  readonly #listeners = new Set<Listener>();
  #open = new Map<string, Open>();
  /** Where the stream stands. */
  #head = 0;
  /** Whatever changed behind this is in `#open`. */
  #floor = 0;

  constructor(cursor: number, unfinished: Unfinished[]) {
    this.#begin(cursor, unfinished);
  }

  get head(): number {
    return this.#head;
  }

  get listeners(): ReadonlySet<Listener> {
    return this.#listeners;
  }

  /** Answers whether the stream has to be opened anew, because the listener stands too far back. */
  join(listener: Listener, unfinished: Unfinished[]): boolean {
    this.#listeners.add(listener);
    if (listener.cursor < this.#floor) {
      this.#begin(listener.cursor, unfinished);
      return true;
    }
    if (listener.cursor < this.#head) {
      const missed = [...this.#open.values()].filter((open) => open.cursor > listener.cursor);
      listener.cursor = this.#head;
      listener.hand(missed.flatMap(whole));
    }
    return false;
  }

  leave(listener: Listener): void {
    this.#listeners.delete(listener);
  }

  take(group: Group): void {
    const from = this.#head;
    if (group.cursor <= from) return;
    this.#head = group.cursor;
    for (const frame of group.frames) this.#keep(frame, group.cursor);
    for (const listener of this.#listeners) {
      if (listener.cursor >= group.cursor) continue;
      const inStep = listener.cursor === from;
      listener.cursor = group.cursor;
      listener.hand(inStep ? group.frames : this.#fromItsStart(group));
    }
  }

  /** Said while one of its Messages is written, or of the whole Conversation; no transcript. */
  aside(frame: ErrorFrame): void {
    if (frame.messageId !== null && !this.#open.has(frame.messageId)) return;
    for (const listener of this.#listeners) listener.hand([frame]);
  }

  #begin(cursor: number, unfinished: Unfinished[]): void {
    this.#head = cursor;
    this.#floor = cursor;
    this.#open = new Map(unfinished.map((one) => [one.start.message.id, { ...one, finish: null, cursor }]));
  }

  #keep(frame: Frame, cursor: number): void {
    if (frame.type === "start") {
      this.#open.set(frame.message.id, { start: frame, parts: [], error: null, finish: null, cursor });
      return;
    }
    if (frame.messageId === null) return;
    const open = this.#open.get(frame.messageId);
    if (!open || (frame.type === "finish" && frame.status !== "queued")) {
      this.#open.delete(frame.messageId);
      this.#floor = cursor;
      return;
    }
    open.cursor = cursor;
    if (frame.type === "part") foldPart(open.parts, frame.index, frame.part);
    else if (frame.type === "error") open.error = frame;
    else open.finish = frame;
  }

  /** For who has a part of the group already. Only pieces that append do harm when they come twice. */
  #fromItsStart(group: Group): Frame[] {
    const [first] = group.frames;
    const open = first?.type === "part" && this.#open.get(first.messageId);
    return open ? whole(open) : group.frames;
  }
}

/** Copies of the Parts: the open Message goes on growing. */
function whole({ start, parts, error, finish }: Open): Frame[] {
  const pieces = parts.map((part, index): Frame => ({ type: "part", messageId: start.message.id, index, part: { ...part } }));
  return [start, ...pieces, ...(error ? [error] : []), ...(finish ? [finish] : [])];
}
