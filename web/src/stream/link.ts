// A tab's end of the line to the worker that reads for all tabs. Each watch keeps its own cursor here, so whatever happens
// to the worker, the tab goes on from where it is: with the same worker when it was let go, with a new one when the old
// one has fallen silent, and with a stream of its own when none can be had.

import { tellSignedOut } from "../api";
import type { StreamReader } from "../stream";
import type { ToTab, ToWorker } from "./words";

declare const HAMLET_WORKER: string;

/** Of a SharedWorker and its port, what is used. */
export interface Worker {
  port: { postMessage(word: ToWorker): void; onmessage: ((event: MessageEvent<ToTab>) => void) | null; close(): void };
  onerror: ((event: ErrorEvent) => void) | null;
}

interface Watch {
  /** Given anew whenever the worker is asked anew, so that what it said to the old one is not taken for the new one. */
  number: number;
  conversation: string;
  cursor: number;
  reader: StreamReader;
  /** The worker can't: read from this cursor without it. */
  alone: (cursor: number) => void;
}

/** A worker that has not said anything so long after its start will not. */
const WELCOME = 10_000;
/** It pings every 10 seconds. */
const SILENCE = 25_000;
const LOOK = 5_000;
const CONFIRM = 16;

export class Link {
  #watches = new Map<number, Watch>();
  #numbers = 0;
  #worker: Worker | null = null;
  #welcomed = false;
  #lastWord = 0;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  readonly #looking: ReturnType<typeof setInterval>;

  /** `broken` is told when no worker can be had and every watch was told to go on alone. */
  constructor(
    private readonly start: () => Worker,
    private readonly broken: () => void,
  ) {
    this.#looking = setInterval(() => this.#look(), LOOK);
    this.connect();
  }

  watch(conversation: string, cursor: number, reader: StreamReader, alone: (cursor: number) => void): { close(): void } {
    const watch = { number: 0, conversation, cursor, reader, alone };
    this.#ask(watch);
    return {
      close: () => {
        if (this.#watches.delete(watch.number)) this.say({ say: "leave", watch: watch.number });
      },
    };
  }

  say(word: ToWorker): void {
    this.#worker?.port.postMessage(word);
  }

  /** Turns to the worker as if for the first time. */
  connect(): void {
    this.say({ say: "bye" });
    this.#worker?.port.close();
    const worker = this.start();
    this.#worker = worker;
    this.#welcomed = false;
    worker.onerror = () => worker === this.#worker && !this.#welcomed && this.#giveUp();
    worker.port.onmessage = ({ data }) => worker === this.#worker && this.#hear(data);
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => this.#giveUp(), WELCOME);
    this.#askAnew();
  }

  #ask(watch: Watch): void {
    this.#numbers += 1;
    watch.number = this.#numbers;
    this.#watches.set(watch.number, watch);
    const { number, conversation, cursor, reader } = watch;
    this.say({ say: "watch", watch: number, conversation, cursor, unfinished: reader.unfinished() });
  }

  #askAnew(): void {
    const watches = this.#watches;
    this.#watches = new Map();
    for (const watch of watches.values()) {
      this.say({ say: "leave", watch: watch.number });
      this.#ask(watch);
    }
  }

  #hear(word: ToTab): void {
    this.#lastWord = Date.now();
    this.#act(word);
    if (word.say === "ping" || word.say === "letGo" || word.nth % CONFIRM === 0) this.say({ say: "heard", upTo: word.nth });
  }

  #act(word: ToTab): void {
    switch (word.say) {
      case "welcome":
        this.#welcomed = true;
        clearTimeout(this.#waiting);
        return;
      case "frames": {
        const watch = this.#watches.get(word.watch);
        if (!watch) return;
        watch.cursor = word.cursor;
        for (const frame of word.frames) watch.reader.frame(frame);
        return;
      }
      case "connected":
        for (const { reader } of this.#watches.values()) reader.connected(word.yes);
        return;
      case "gone":
        this.#end(word.watch)?.reader.gone();
        return;
      case "stale":
        this.#end(word.watch)?.reader.stale();
        return;
      case "alone": {
        const watch = this.#end(word.watch);
        watch?.alone(watch.cursor);
        return;
      }
      case "signedOut":
        this.#watches.clear();
        tellSignedOut();
        return;
      case "letGo":
        this.#askAnew();
        return;
      case "ping":
    }
  }

  #end(number: number): Watch | undefined {
    const watch = this.#watches.get(number);
    this.#watches.delete(number);
    return watch;
  }

  /** Whether the worker is still alive. After a long sleep of this tab the answer may be wrong, and costs nothing. */
  #look(): void {
    if (this.#welcomed && Date.now() - this.#lastWord >= SILENCE) this.connect();
  }

  #giveUp(): void {
    clearTimeout(this.#waiting);
    clearInterval(this.#looking);
    this.say({ say: "bye" });
    this.#worker = null;
    const left = [...this.#watches.values()];
    this.#watches.clear();
    this.broken();
    for (const { alone, cursor } of left) alone(cursor);
  }
}

let page: Link | null | undefined;

/** The page's line to the worker; null where there is none. */
export function link(): Link | null {
  if (page === undefined) page = typeof SharedWorker === "undefined" ? null : opened();
  return page;
}

/** Who is signed in has changed: the server is asked at once what that means for the frames of all tabs. */
export function askAgain(): void {
  page?.say({ say: "again" });
}

function opened(): Link | null {
  let made: Link;
  try {
    made = new Link(
      () => new SharedWorker(HAMLET_WORKER, { name: "hamlet" }),
      () => (page = null),
    );
  } catch {
    // Some browsers have them and forbid them, where cookies are blocked for one.
    return null;
  }
  addEventListener("pagehide", () => made.say({ say: "bye" }));
  // Brought back as it was by the "back" button.
  addEventListener("pageshow", (event) => event.persisted && made.connect());
  addEventListener("online", askAgain);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && made.say({ say: "hurry" }));
  return made;
}
