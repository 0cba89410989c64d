// `GET /api/frames?watch=` as fetch sees it, played: streams are written to and cut by the test, and what was asked for is
// kept. `network` says what is answered.

import type { PlayedConversation } from "./conversation";

export type Network = { kind: "stream" } | { kind: "down" } | { kind: "status"; status: number; headers?: Record<string, string> };

export class PlayedServer {
  network: Network = { kind: "stream" };
  readonly conversations = new Map<string, PlayedConversation>();
  readonly streams: PlayedStream[] = [];
  asked = 0;

  get open(): PlayedStream[] {
    return this.streams.filter((stream) => !stream.ended);
  }

  add(...conversations: PlayedConversation[]): void {
    for (const one of conversations) this.conversations.set(one.id, one);
  }

  readonly fetch = async (address: string, { signal }: { signal: AbortSignal }): Promise<Response> => {
    this.asked += 1;
    const { network } = this;
    if (signal.aborted) throw signal.reason;
    if (network.kind === "down") throw new TypeError("no connection");
    if (network.kind === "status") return new Response("{}", { status: network.status, headers: network.headers ?? {} });
    const watch = new URL(address, "http://hamlet").searchParams.get("watch")!;
    const stream = new PlayedStream(this, new Map(watch.split(",").map((one) => one.split(":") as [string, string]).map(([id, cursor]) => [id, Number(cursor)])));
    this.streams.push(stream);
    signal.addEventListener("abort", () => stream.fail(signal.reason));
    return new Response(stream.body, { headers: { "content-type": "text/event-stream" } });
  };

  /** Whatever is new goes to whoever reads it. */
  tell(merges = 1): void {
    for (const stream of this.open) stream.tell(merges);
  }
}

export class PlayedStream {
  readonly body: ReadableStream<Uint8Array>;
  ended = false;
  #controller!: ReadableStreamDefaultController<Uint8Array>;

  constructor(
    private readonly server: PlayedServer,
    readonly cursors: Map<string, number>,
  ) {
    this.body = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => {
        this.ended = true;
      },
    });
    for (const [id, cursor] of cursors) {
      this.write(`id: ${id}:${cursor}\n\n`);
      if (!server.conversations.has(id)) this.gone(id);
    }
  }

  tell(merges: number): void {
    let text = "";
    for (const [id, cursor] of this.cursors) {
      for (const { id: seq, frame } of this.server.conversations.get(id)?.read(cursor, merges) ?? []) {
        text += `id: ${id}:${seq}\ndata: ${JSON.stringify(frame)}\n\n`;
        this.cursors.set(id, seq);
      }
    }
    if (text !== "") this.write(text);
  }

  write(text: string): void {
    this.#controller.enqueue(new TextEncoder().encode(text));
  }

  gone(id: string): void {
    this.cursors.delete(id);
    this.write(`event: gone\ndata: {"conversationId":"${id}"}\n\n`);
  }

  /** The server ends the stream. */
  end(): void {
    this.ended = true;
    this.#controller.close();
  }

  /** The connection breaks. */
  fail(reason: unknown = new TypeError("network error")): void {
    if (this.ended) return;
    this.ended = true;
    this.#controller.error(reason);
  }
}
