// What the Player has said that is not in the transcript yet: sent in order, one at a time, each under a key of its own,
// so that a lost answer never makes a text be said twice.

import { api, wordsFor } from "../api";
import { uuid } from "../id";
import type { OnBusy } from "../wire";

/** A text on its way: shown at once, and replaced by its Message when that begins. */
export interface Pending {
  clientId: string;
  key: string;
  text: string;
  onBusy: OnBusy;
}

export interface Trouble {
  message: string;
  code: string | null;
}

export interface OutboxReader {
  changed(): void;
  trouble(what: Trouble | null): void;
  /** A text that could not be sent goes back to where it was typed. */
  returned(text: string): void;
  /** A text that seemed lost was received after all. */
  arrived(text: string): void;
}

export class Outbox {
  pending: readonly Pending[] = [];
  /** What was refused last: sent again unchanged it goes under the same key, so that it cannot be said twice. */
  #refused: Pending | null = null;
  /** Resolves when all before it were answered. */
  #line: Promise<void> = Promise.resolve();

  constructor(
    private readonly conversation: string,
    private readonly reader: OutboxReader,
  ) {}

  /** Resolves when the text was answered. */
  send(text: string, onBusy: OnBusy): Promise<void> {
    const refused = this.#refused;
    const again = refused?.text === text && refused.onBusy === onBusy;
    const pending = again ? refused : { clientId: uuid(), key: uuid(), text, onBusy };
    this.#refused = null;
    this.pending = [...this.pending, pending];
    this.reader.trouble(null);
    this.#line = this.#line.then(() => this.#post(pending));
    return this.#line;
  }

  /** A Message has begun that bears this mark. */
  begun(clientId: string): void {
    this.pending = this.pending.filter((pending) => pending.clientId !== clientId);
    if (clientId !== this.#refused?.clientId) return;
    const { text } = this.#refused;
    this.#refused = null;
    this.reader.arrived(text);
    this.reader.trouble(null);
  }

  async #post(pending: Pending): Promise<void> {
    const { text, clientId, key, onBusy } = pending;
    try {
      await api.send(this.conversation, { text, clientId, onBusy }, key);
    } catch (error) {
      // The answer was lost, but the Message is there already: nothing has to be sent again.
      if (!this.pending.includes(pending)) return;
      this.pending = this.pending.filter((other) => other !== pending);
      this.#refused = pending;
      this.reader.trouble(wordsFor(error));
      this.reader.returned(text);
    }
    this.reader.changed();
  }
}
