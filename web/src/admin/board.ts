// The page of actors as the events of its stream tell it. Applying an event twice changes nothing.

import type { Actor, ActorsEvent, Counts } from "./wire";

export class Board {
  counts: Counts | null = null;
  next: string | null = null;
  /** Milliseconds that the server's clock is ahead of this one. */
  ahead = 0;
  #order: string[] = [];
  #rows = new Map<string, Actor>();

  apply(event: ActorsEvent, here: number): void {
    this.ahead = Date.parse(event.now) - here;
    this.counts = event.counts;
    this.next = event.next;
    for (const actor of event.items) this.#rows.set(actor.conversationId, actor);
    if (event.page) {
      this.#order = event.page;
      const kept = new Set(event.page);
      for (const id of [...this.#rows.keys()]) if (!kept.has(id)) this.#rows.delete(id);
    }
  }

  get rows(): Actor[] {
    return this.#order.flatMap((id) => this.#rows.get(id) ?? []);
  }

  row(id: string): Actor | undefined {
    return this.#rows.get(id);
  }
}
