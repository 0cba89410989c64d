// A gate in front of a Village: passes every connection on as it is, and knows what is being asked through it. HTTP/1.1
// only, so a browser has six connections through it for all its tabs.

import { once } from "node:events";
import { connect, createServer } from "node:net";

export class Gate {
  /** The path of every request, in order. */
  asked = [];
  /** So many streams of frames were open at once. */
  most = 0;
  #open = new Map();
  #changed = () => undefined;

  static async before(address) {
    const gate = new Gate();
    gate.server = createServer((outside) => gate.#pass(outside, new URL(address)));
    gate.server.listen(0, "127.0.0.1");
    await once(gate.server, "listening");
    gate.url = `http://127.0.0.1:${gate.server.address().port}`;
    return gate;
  }

  /** What is being answered to whom just now: a connection's last request, while it is open. */
  get open() {
    return [...this.#open.values()];
  }

  get streams() {
    return this.open.filter((path) => path.includes("/frames?"));
  }

  /** Waits until so many streams of frames are open. */
  async streaming(count) {
    const limit = AbortSignal.timeout(30_000);
    while (this.streams.length !== count) {
      if (limit.aborted) throw new Error(`not ${count} streams but\n${this.open.join("\n")}`);
      await new Promise((resolve) => {
        this.#changed = resolve;
        limit.onabort = resolve;
      });
    }
  }

  #set(outside, path) {
    if (path === null) this.#open.delete(outside);
    else this.#open.set(outside, path);
    this.most = Math.max(this.most, this.streams.length);
    this.#changed();
  }

  close() {
    this.server.close();
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #pass(outside, { hostname, port }) {
    const inside = connect(port, hostname);
    this.#set(outside, "");
    outside.on("data", (bytes) => {
      // A browser begins a request with a write of its own.
      const path = /^[A-Z]+ (\S+) HTTP\/1\.1\r\n/.exec(bytes.toString("latin1"))?.[1];
      if (!path) return;
      this.asked.push(path);
      this.#set(outside, path);
    });
    outside.pipe(inside).pipe(outside);
    const end = () => {
      this.#set(outside, null);
      outside.destroy();
      inside.destroy();
    };
    for (const socket of [outside, inside]) socket.on("error", end).on("close", end);
  }
}
