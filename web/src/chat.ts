// One open Conversation: its transcript, what the Player has sent that is not in it yet, and the commands. It knows the
// API and the fold; it draws nothing and tells its reader when something changed.

import { api, ApiError, wordsFor } from "./api";
import { Transcript, type Entry } from "./fold";
import { uuid } from "./id";
import { FrameStream } from "./stream";
import type { Frame, Message, MessagesPage } from "./wire";

/** A text on its way: shown at once, and replaced by its Message when that begins. */
export interface Pending {
  clientId: string;
  key: string;
  text: string;
}

export interface Trouble {
  message: string;
  code: string | null;
}

export interface ChatReader {
  changed(): void;
  /** A text that could not be sent goes back to where it was typed. */
  returned(text: string): void;
  /** A text that seemed lost was received after all. */
  arrived(text: string): void;
  /** A Message ended: what the list of Conversations shows may be another now. */
  stamped(title: string | null, updatedAt: string): void;
}

export type Stage = "loading" | "ready" | "gone" | "failed";

export class Chat {
  stage: Stage = "loading";
  connected = true;
  stopping = false;
  trouble: Trouble | null = null;
  /** Said by the server outside the transcript: it cannot store just then. */
  storeTrouble: string | null = null;
  pending: Pending[] = [];
  older: string | null = null;
  transcript = new Transcript();

  #stream: FrameStream | null = null;
  #closed = false;
  #texts = new Map<string, string>();
  /** What was refused last: sent again unchanged it goes under the same key, so that it cannot be said twice. */
  #refused: Pending | null = null;

  constructor(
    readonly id: string,
    private readonly reader: ChatReader,
  ) {}

  async open(): Promise<void> {
    this.#stream?.close();
    this.stage = "loading";
    this.trouble = null;
    this.reader.changed();
    let page: MessagesPage;
    try {
      page = await api.messages(this.id, null);
    } catch (error) {
      if (this.#closed) return;
      this.stage = error instanceof ApiError && error.status === 404 ? "gone" : "failed";
      this.trouble = wordsFor(error);
      this.reader.changed();
      return;
    }
    if (this.#closed) return;
    this.transcript = Transcript.of(page.items);
    this.#remember(page.items);
    this.older = page.next;
    this.stage = "ready";
    this.#stream = new FrameStream(this.id, page.cursor, {
      frame: (frame) => this.#fold(frame),
      connected: (yes) => {
        this.connected = yes;
        this.reader.changed();
      },
      busy: () => this.running !== undefined || this.pending.length > 0,
      gone: () => {
        this.stage = "gone";
        this.reader.changed();
      },
      stale: () => void this.open(),
      unfinished: () => this.transcript.unfinished(this.id),
    });
    this.reader.changed();
  }

  close(): void {
    this.#closed = true;
    this.#stream?.close();
  }

  /** The one Message that is being written, while a turn runs. */
  get running(): Entry | undefined {
    return this.transcript.entries.findLast((entry) => entry.status === "running");
  }

  /** What a Message from before Parts existed says. */
  textOf(entry: Entry): string {
    return this.#texts.get(entry.id) ?? "";
  }

  async send(text: string): Promise<void> {
    this.trouble = null;
    if (this.running || this.pending.length > 0) {
      this.#refuse(text, new ApiError(409, "TURN_IN_PROGRESS", ""));
      return;
    }
    const again = this.#refused?.text === text ? this.#refused : null;
    const pending = again ?? { clientId: uuid(), key: uuid(), text };
    this.#refused = null;
    this.pending = [...this.pending, pending];
    this.reader.changed();
    try {
      await api.send(this.id, text, pending.clientId, pending.key);
    } catch (error) {
      // The answer was lost, but the Message is there already: nothing has to be sent again.
      if (!this.pending.includes(pending)) return;
      this.pending = this.pending.filter((other) => other !== pending);
      this.#refused = pending;
      this.#refuse(text, error);
    }
  }

  async stop(): Promise<void> {
    const running = this.running;
    if (!running) return;
    this.stopping = true;
    await this.#command(() => api.abort(this.id, running.turnId));
    this.stopping = false;
    this.reader.changed();
  }

  async regenerate(): Promise<void> {
    await this.#command(() => api.regenerate(this.id));
  }

  async loadOlder(): Promise<void> {
    const before = this.older;
    if (!before) return;
    await this.#command(async () => {
      const page = await api.messages(this.id, before);
      this.transcript.addOlder(page.items);
      this.#remember(page.items);
      this.older = page.next;
    });
  }

  dismiss(): void {
    this.trouble = null;
    this.reader.changed();
  }

  async #command(run: () => Promise<unknown>): Promise<void> {
    this.trouble = null;
    this.reader.changed();
    try {
      await run();
    } catch (error) {
      this.trouble = wordsFor(error);
    }
    this.reader.changed();
  }

  #fold(frame: Frame): void {
    if (frame.type === "error" && frame.code === "STORE_UNAVAILABLE") {
      // The one frame that is not transcript: after a reload it would not be there either.
      this.storeTrouble = frame.message;
      this.reader.changed();
      return;
    }
    this.storeTrouble = null;
    this.transcript.fold(frame);
    if (frame.type === "start") {
      this.#texts.delete(frame.message.id);
      const { clientId } = frame.message;
      if (clientId !== undefined) this.pending = this.pending.filter((pending) => pending.clientId !== clientId);
      if (clientId !== undefined && clientId === this.#refused?.clientId) {
        this.reader.arrived(this.#refused.text);
        this.#refused = null;
        this.trouble = null;
      }
    }
    if (frame.type === "finish") {
      this.reader.stamped(frame.conversation.title, frame.conversation.updatedAt);
    }
    this.reader.changed();
  }

  #refuse(text: string, error: unknown): void {
    this.trouble = wordsFor(error);
    this.reader.returned(text);
    this.reader.changed();
  }

  #remember(messages: Message[]): void {
    for (const message of messages) {
      if (message.parts.length === 0 && message.text !== "") this.#texts.set(message.id, message.text);
    }
  }
}
