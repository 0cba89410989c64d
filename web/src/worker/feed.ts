// The browser's one stream of frames. It is read with fetch rather than EventSource, which would hide why it was refused,
// when the server wants it to come back, and that a connection is dead though it looks open.
//
// Opening it anew loses and doubles nothing: what was not whole is dropped, and the server begins again behind the last
// whole group of each Conversation. So whatever changes, the stream is cut and opened anew.

import { createParser } from "eventsource-parser";
import { Groups, type Told } from "./groups";

export interface FeedReader {
  /** Where each Conversation that is wanted stands now. */
  positions(): ReadonlyMap<string, number>;
  told(what: Told): void;
  /** All that has arrived together was told. */
  pause(): void;
  connected(yes: boolean): void;
  signedOut(): void;
}

/** Tabs are opened and closed in handfuls: their wishes are gathered for so long. */
const GATHER = 20;
/** The server says something every 15 seconds; after three times that without a word the connection is dead. */
const SILENCE = 45_000;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15_000;
/** A connection that held so long was a good one: the next pause is a short one again. */
const GOOD = 5_000;

export class Feed {
  #reading: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What the timer is for. */
  #waiting: "gathering" | "pausing" | null = null;
  #failures = 0;
  #connected = true;
  /** What the server asked for in the stream that was read last, in milliseconds. */
  #retry = 0;

  constructor(private readonly reader: FeedReader) {}

  /** Whether frames arrive, as far as is known. */
  get connected(): boolean {
    return this.#connected;
  }

  /**
   * Opens the stream anew, with what is wanted then. The old one ends at once: a Conversation that is wanted from further
   * back must not be told what stands further on.
   */
  again(): void {
    this.#cut();
    if (this.#waiting !== "gathering") this.#wait("gathering", GATHER);
  }

  /** Ends a pause. */
  hurry(): void {
    if (this.#waiting === "pausing") this.again();
  }

  #cut(): void {
    this.#reading?.abort();
    this.#reading = null;
  }

  #wait(why: "gathering" | "pausing", milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#waiting = why;
    this.#timer = setTimeout(() => {
      this.#waiting = null;
      void this.#open();
    }, milliseconds);
  }

  async #open(): Promise<void> {
    const positions = this.reader.positions();
    if (positions.size === 0) {
      this.#connected = true;
      this.#failures = 0;
      return;
    }
    const reading = new AbortController();
    this.#reading = reading;
    const began = Date.now();
    const pause = await this.#read(positions, reading);
    // It was cut from here.
    if (this.#reading !== reading) return;
    this.#cut();
    if (this.reader.positions().size === 0) return;
    this.#tell(false);
    if (pause === null) {
      this.reader.signedOut();
      return;
    }
    if (Date.now() - began >= GOOD) this.#failures = 0;
    const growing = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** this.#failures) * (0.75 + Math.random() / 2);
    this.#failures += 1;
    this.#wait("pausing", Math.max(pause, growing));
  }

  /** Reads to the end. Answers how long the server wants to be left alone at least; null when nobody is signed in. */
  async #read(positions: ReadonlyMap<string, number>, reading: AbortController): Promise<number | null> {
    this.#retry = 0;
    const silence = new Silence(() => reading.abort());
    try {
      const watch = [...positions].map(([id, cursor]) => `${id}:${cursor}`).join(",");
      const response = await fetch(`/api/frames?watch=${watch}`, {
        headers: { accept: "text/event-stream" },
        cache: "no-store",
        signal: reading.signal,
      });
      if (this.#reading !== reading) return 0;
      if (response.status === 401) return null;
      // None of them is there; where some are, the stream tells of the others.
      if (response.status === 404) for (const conversation of positions.keys()) this.reader.told({ kind: "gone", conversation });
      if (!response.ok || !response.body) return 1000 * (Number(response.headers.get("retry-after")) || 0);
      this.#tell(true);
      await this.#drain(response.body.pipeThrough(new TextDecoderStream()).getReader(), reading, new Groups(positions), silence);
    } catch (error) {
      // No connection, or it broke: there is nothing to tell them apart by, and nothing else to do.
      if (!reading.signal.aborted && !(error instanceof TypeError)) console.error(error);
    } finally {
      silence.over();
    }
    return this.#retry;
  }

  async #drain(
    reader: ReadableStreamDefaultReader<string>,
    reading: AbortController,
    groups: Groups,
    silence: Silence,
  ): Promise<void> {
    const parser = createParser({
      onEvent: (event) => {
        const told = groups.take(event);
        if (told) this.reader.told(told);
      },
      onRetry: (milliseconds) => {
        this.#retry = milliseconds;
      },
    });
    for (;;) {
      const { done, value } = await reader.read();
      // What arrives after the cut comes in the next stream too.
      if (done || this.#reading !== reading) return;
      silence.broken();
      parser.feed(value);
      this.reader.pause();
    }
  }

  #tell(connected: boolean): void {
    if (connected === this.#connected) return;
    this.#connected = connected;
    this.reader.connected(connected);
  }
}

/** Calls back when nothing was heard for too long. */
class Silence {
  #last = Date.now();
  #timer: ReturnType<typeof setTimeout>;

  constructor(private readonly tooLong: () => void) {
    this.#timer = setTimeout(() => this.#look(), SILENCE);
  }

  broken(): void {
    this.#last = Date.now();
  }

  over(): void {
    clearTimeout(this.#timer);
  }

  #look(): void {
    const left = SILENCE - (Date.now() - this.#last);
    if (left <= 0) this.tooLong();
    else this.#timer = setTimeout(() => this.#look(), left);
  }
}
