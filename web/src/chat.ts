// One open Conversation: its transcript, what the Player has sent that is not in it yet, and the commands. It knows the
// API and the fold; it draws nothing and tells its reader when something changed.

import { api, ApiError, wordsFor, type Decision } from "./api";
import { Outbox, type Trouble } from "./chat/outbox";
import { Variants } from "./chat/variants";
import { Transcript, type Entry } from "./fold";
import { uuid } from "./id";
import { FrameStream } from "./stream";
import { type ErrorFrame, type Frame, type Message, type MessagesPage, type OnBusy, isAside } from "./wire";

export type { Trouble } from "./chat/outbox";

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
  /** Said by the server outside the transcript: it cannot store just then, or the Conversation is put aside. */
  aside: ErrorFrame | null = null;
  older: string | null = null;
  transcript = new Transcript();
  readonly outbox: Outbox;
  readonly variants: Variants;

  #stream: FrameStream | null = null;
  #closed = false;
  #texts = new Map<string, string>();
  /** An edit without an answer: tried again unchanged it goes under the same key. */
  #edited: { id: string; text: string; key: string } | null = null;

  constructor(
    readonly id: string,
    private readonly reader: ChatReader,
  ) {
    this.outbox = new Outbox(id, {
      changed: reader.changed,
      returned: reader.returned,
      arrived: reader.arrived,
      trouble: (what) => {
        this.trouble = what;
        reader.changed();
      },
    });
    this.variants = new Variants(id, reader.changed);
  }

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
      busy: () => !this.idle,
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
    this.variants.close();
    this.#stream?.close();
  }

  /** The one Message that is being written, while a turn runs. */
  get running(): Entry | undefined {
    return this.transcript.entries.findLast((entry) => entry.status === "running");
  }

  /** Nothing is being written, and nothing is on its way to be answered. */
  get idle(): boolean {
    return this.running === undefined && this.outbox.pending.length === 0;
  }

  /** What was said, in order. */
  get said(): Entry[] {
    return this.transcript.entries.filter((entry) => entry.status !== "queued");
  }

  /** What waits, in the order in which it will be said. */
  get waiting(): Entry[] {
    return this.transcript.entries.filter((entry) => entry.status === "queued");
  }

  /** Whether a text that waits joins the running turn at its next step. */
  steers(entry: Entry): boolean {
    return this.running?.turnId === entry.turnId;
  }

  /** What a Message from before Parts existed says. */
  textOf(entry: Entry): string {
    return this.#texts.get(entry.id) ?? "";
  }

  send(text: string, onBusy: OnBusy): Promise<void> {
    return this.outbox.send(text, onBusy);
  }

  /** Another text for one that waits, or for one that was said: then it is answered anew. Answers whether it was taken. */
  async edit(id: string, text: string): Promise<boolean> {
    const again = this.#edited?.id === id && this.#edited.text === text;
    const edited = again ? this.#edited! : { id, text, key: uuid() };
    this.#edited = edited;
    const taken = await this.#command(() => api.edit(id, text, edited.key));
    if (taken) this.#edited = null;
    return taken;
  }

  async withdraw(id: string): Promise<void> {
    await this.#command(() => api.withdraw(id));
  }

  /** What waits is taken up. */
  async resume(): Promise<void> {
    await this.#command(() => api.resume(this.id));
  }

  /** Goes to another variant of this Message, so many places further. */
  async turn(id: string, step: number): Promise<void> {
    const wanted = this.variants.neighbour(id, step);
    if (wanted) await this.#command(() => api.select(wanted));
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

  /** Goes on behind the last reply; `hops` allows so many hand-overs more. */
  async goOn(hops: number | null): Promise<void> {
    await this.#command(() => api.goOn(this.id, hops));
  }

  /** Says whether a call may run. Answers why that was not taken: it is told where the call stands. */
  async decide(decision: Decision): Promise<Trouble | null> {
    try {
      await api.decide(this.id, decision);
      return null;
    } catch (error) {
      return wordsFor(error);
    }
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

  async #command(run: () => Promise<unknown>): Promise<boolean> {
    this.trouble = null;
    this.reader.changed();
    try {
      await run();
    } catch (error) {
      this.trouble = wordsFor(error);
    }
    this.reader.changed();
    return this.trouble === null;
  }

  #fold(frame: Frame): void {
    if (frame.type === "error" && isAside(frame)) {
      this.aside = frame;
      this.reader.changed();
      return;
    }
    this.aside = null;
    this.transcript.fold(frame);
    if (frame.type === "start") {
      this.#texts.delete(frame.message.id);
      if (frame.message.clientId !== undefined) this.outbox.begun(frame.message.clientId);
      if (frame.supersedes?.length) this.variants.left();
    }
    if (frame.type === "finish") {
      if (frame.status === "superseded") this.variants.left();
      this.reader.stamped(frame.conversation.title, frame.conversation.updatedAt);
    }
    if (!this.running) this.variants.rest();
    this.reader.changed();
  }

  #remember(messages: Message[]): void {
    this.variants.learn(messages);
    for (const message of messages) {
      if (message.parts.length === 0 && message.text !== "") this.#texts.set(message.id, message.text);
    }
  }
}
