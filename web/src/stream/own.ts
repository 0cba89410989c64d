// A tab's own stream of one Conversation. EventSource reconnects by itself after a dropped connection, with the last id
// it saw; it gives up for good on an answer that is no stream. Then this asks why, and tries again with growing pauses.
//
// Browsers allow six connections to a host over HTTP/1.1, for all tabs together. So a tab that is out of sight and has
// nothing going on lets go of its stream, and takes it up where it was when it is looked at again.

import { api, ApiError } from "../api";
import type { StreamReader } from "../stream";

const OUT_OF_SIGHT = 5_000;

export class OwnStream {
  #source: EventSource | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #leaving: ReturnType<typeof setTimeout> | undefined;
  #resting = false;
  #failures = 0;
  #closed = false;

  constructor(
    private readonly conversationId: string,
    /** The id of the last event whose frame was read; any id ever seen is a good place to go on from. */
    private cursor: number,
    private readonly reader: StreamReader,
  ) {
    this.#connect();
    addEventListener("online", this.#seen);
    document.addEventListener("visibilitychange", this.#seen);
    this.#seen();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#leaving);
    this.#source?.close();
    removeEventListener("online", this.#seen);
    document.removeEventListener("visibilitychange", this.#seen);
  }

  #connect(): void {
    const source = new EventSource(api.framesUrl(this.conversationId, this.cursor));
    this.#source = source;
    source.onopen = () => {
      this.#failures = 0;
      this.reader.connected(true);
    };
    source.onmessage = (event: MessageEvent<string>) => {
      // Inside a replay only a message's last frame has an id of its own, and until then this is the one before it.
      const cursor = event.lastEventId === "" ? this.cursor : Number(event.lastEventId);
      if (cursor < this.cursor) {
        // The server was put back to an older backup.
        this.close();
        this.reader.stale();
        return;
      }
      this.cursor = cursor;
      this.reader.frame(JSON.parse(event.data));
    };
    source.onerror = () => {
      this.reader.connected(false);
      if (source.readyState === EventSource.CLOSED) void this.#refused();
    };
  }

  /** EventSource does not tell what it was answered, so a plain request has to. */
  async #refused(): Promise<void> {
    this.#source = null;
    try {
      await api.conversation(this.conversationId);
    } catch (error) {
      if (this.#closed) return;
      if (error instanceof ApiError && error.status === 404) {
        this.close();
        this.reader.gone();
        return;
      }
      if (error instanceof ApiError && error.status === 401) {
        this.close();
        return;
      }
    }
    if (this.#closed || this.#resting) return;
    const pause = Math.min(15_000, 500 * 2 ** this.#failures) * (0.75 + Math.random() / 2);
    this.#failures += 1;
    this.#retry = setTimeout(this.#now, pause);
  }

  /** Back online or in view again: what waits for its pause to end need not wait. */
  readonly #now = (): void => {
    if (this.#source || this.#closed || (this.#retry === undefined && !this.#resting)) return;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#resting = false;
    this.#connect();
  };

  readonly #seen = (): void => {
    clearTimeout(this.#leaving);
    if (document.visibilityState === "hidden") this.#leaving = setTimeout(this.#rest, OUT_OF_SIGHT);
    else this.#now();
  };

  readonly #rest = (): void => {
    if (this.reader.busy()) {
      this.#leaving = setTimeout(this.#rest, OUT_OF_SIGHT);
      return;
    }
    this.#resting = true;
    this.#source?.close();
    this.#source = null;
    clearTimeout(this.#retry);
    this.#retry = undefined;
  };
}
