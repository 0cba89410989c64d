// One tab as the worker knows it: its port, what it watches, and how far it has read what it was told.

import type { ToTab, ToWorker } from "../stream/words";
import type { Frame } from "../wire";
import type { Listener } from "./relay";

/** Of a MessagePort, what is used. */
export interface Port {
  postMessage(word: ToTab): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
  close(): void;
}

type Unnumbered<Word> = Word extends { nth: number } ? Omit<Word, "nth"> : never;

export class Tab {
  readonly watches = new Map<number, Watch>();
  heard = 0;
  /** The number of the last ping. */
  pinged = 0;
  #said = 0;

  constructor(readonly port: Port) {}

  get unheard(): number {
    return this.#said - this.heard;
  }

  say(word: Unnumbered<ToTab>): void {
    this.#said += 1;
    this.port.postMessage({ ...word, nth: this.#said });
  }

  ping(): void {
    this.say({ say: "ping" });
    this.pinged = this.#said;
  }

  /** Sends what its watches were handed. */
  flush(): void {
    for (const [watch, { cursor, frames, taken }] of this.watches) {
      if (frames.length > 0) this.say({ say: "frames", watch, cursor, frames });
      taken();
    }
  }

  /** Its watches of this Conversation are over. */
  over(conversation: string, why: "gone" | "stale"): void {
    this.flush();
    for (const [watch, listener] of this.watches) {
      if (listener.conversation !== conversation) continue;
      this.watches.delete(watch);
      this.say({ say: why, watch });
    }
  }
}

/** A tab's watch of a Conversation. What arrives together is sent together. */
export class Watch implements Listener {
  frames: Frame[] = [];

  constructor(
    readonly conversation: string,
    public cursor: number,
  ) {}

  hand(frames: Frame[]): void {
    for (const frame of frames) this.frames.push(frame);
  }

  readonly taken = (): void => {
    this.frames = [];
  };
}
