// Which Messages have variants, and which of them stands in the transcript. Transcripts tell the number, frames do not: so
// it is asked for again when something has left and nothing runs any more.

import { api } from "../api";
import type { Message } from "../wire";

/** Which of how many; the first is 1. Null until it is known. */
export interface Place {
  at: number | null;
  of: number;
}

const TOGETHER = 200;

export class Variants {
  #counts = new Map<string, number>();
  #lists = new Map<string, string[]>();
  #asked = new Set<string>();
  #outdated = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly conversation: string,
    private readonly changed: () => void,
  ) {}

  learn(messages: Iterable<Message>): void {
    for (const { id, variantCount } of messages) {
      this.#counts.set(id, variantCount);
      if (this.#lists.get(id)?.length === variantCount) continue;
      this.#lists.delete(id);
      this.#asked.delete(id);
    }
  }

  /** A Message has left the transcript, or will. */
  left(): void {
    this.#outdated = true;
  }

  /** Nothing runs: what is outdated is asked for, once for all that happens together. */
  rest(): void {
    if (!this.#outdated) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#renew(), TOGETHER);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Null for a Message without variants. */
  place(id: string): Place | null {
    const of = this.#counts.get(id) ?? 1;
    if (of < 2) return null;
    const at = this.#lists.get(id)?.indexOf(id) ?? -1;
    return { at: at < 0 ? null : at + 1, of };
  }

  /** The variant so many places further, if there is one. */
  neighbour(id: string, step: number): string | null {
    const list = this.#lists.get(id) ?? [];
    const at = list.indexOf(id);
    return (at < 0 ? null : list[at + step]) ?? null;
  }

  /** Asks which variants there are, where that is not known yet. */
  async look(id: string): Promise<void> {
    if (this.#asked.has(id)) return;
    this.#asked.add(id);
    try {
      const { items } = await api.variants(id);
      const ids = items.map((message) => message.id);
      for (const one of ids) {
        this.#lists.set(one, ids);
        this.#counts.set(one, ids.length);
        this.#asked.add(one);
      }
    } catch {
      // The number is shown without a place in it; the next look asks again.
      this.#asked.delete(id);
      return;
    }
    this.changed();
  }

  async #renew(): Promise<void> {
    this.#outdated = false;
    try {
      const { items } = await api.messages(this.conversation, null);
      this.learn(items);
    } catch {
      // Asked for again when the next Message leaves; what is shown until then was true before.
      this.#outdated = true;
      return;
    }
    this.changed();
  }
}
