// The stream behind the table. EventSource reconnects by itself after a dropped connection; it gives up on an answer that
// is no stream, and then this tries again with growing pauses. A page out of sight lets go of its stream: browsers have
// six connections to a host, for all tabs together.

import { api, ApiError } from "../api";
import { eventsUrl, type Wanted } from "./api";
import type { ActorsEvent } from "./wire";

export interface FeedReader {
  event(event: ActorsEvent): void;
  connected(yes: boolean): void;
}

const OUT_OF_SIGHT = 5_000;

export class ActorsFeed {
  #source: EventSource | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #closed = false;

  constructor(
    private readonly wanted: Wanted,
    private readonly reader: FeedReader,
  ) {
    document.addEventListener("visibilitychange", this.#seen);
    addEventListener("online", this.#seen);
    this.#connect();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#source?.close();
    document.removeEventListener("visibilitychange", this.#seen);
    removeEventListener("online", this.#seen);
  }

  readonly #connect = (): void => {
    if (this.#source || this.#closed) return;
    const source = new EventSource(eventsUrl(this.wanted));
    this.#source = source;
    source.onmessage = (event: MessageEvent<string>) => {
      this.#failures = 0;
      this.reader.connected(true);
      this.reader.event(JSON.parse(event.data));
    };
    source.onerror = () => {
      this.reader.connected(false);
      if (source.readyState === EventSource.CLOSED) void this.#refused();
    };
  };

  /** EventSource does not tell what it was answered; who is signed out is told so by a plain request. */
  async #refused(): Promise<void> {
    this.#source = null;
    try {
      await api.me();
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return;
    }
    const pause = Math.min(15_000, 500 * 2 ** this.#failures) * (0.75 + Math.random() / 2);
    this.#failures += 1;
    if (!this.#closed) this.#timer = setTimeout(this.#connect, pause);
  }

  readonly #seen = (): void => {
    clearTimeout(this.#timer);
    if (document.visibilityState === "visible") this.#connect();
    else this.#timer = setTimeout(this.#rest, OUT_OF_SIGHT);
  };

  readonly #rest = (): void => {
    this.#source?.close();
    this.#source = null;
  };
}
