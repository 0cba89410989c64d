// A real Hamlet for one story: the binary (HAMLET_BIN) on a fresh folder and a free port, with the rehearsal Provider.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Gate } from "./gate.mjs";

const binary = process.env.HAMLET_BIN ?? fileURLToPath(new URL("../../target/debug/hamlet", import.meta.url));
/** A debug build on a busy machine starts slowly. */
const START_LIMIT = 60_000;

export class Village {
  #child = null;
  #log = "";

  /** `tokensPerSecond` is the pace of the rehearsal Provider: slow stories interrupt it. `gated`: behind a gate. */
  static async start({ tokensPerSecond = 200, gated = false } = {}) {
    const village = new Village();
    village.folder = await mkdtemp(join(tmpdir(), "hamlet-browser-"));
    village.tokensPerSecond = tokensPerSecond;
    await village.#run("127.0.0.1:0");
    if (gated) village.gate = await Gate.before(village.inside);
    village.url = village.gate?.url ?? village.inside;
    village.link = village.link.replace(village.inside, village.url);
    return village;
  }

  /** The process is gone at once, as in a power cut. */
  async killHard() {
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  /** The same folder and port again. */
  async startAgain() {
    await this.#run(new URL(this.inside).host);
  }

  async end() {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.killHard();
    this.gate?.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** What the process printed, for the report of a story that failed. */
  get log() {
    return this.#log;
  }

  async #run(listen) {
    // Nothing of the surroundings may choose another Provider: a key in the environment would.
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/_API_KEY$|_BASE_URL$|^(HAMLET|LLM|OLLAMA)_/.test(name)),
    );
    const child = spawn(binary, ["--data", this.folder, "--listen", listen], {
      cwd: this.folder,
      env: { ...env, HAMLET_REHEARSAL_TOKENS_PER_SECOND: String(this.tokensPerSecond) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    await new Promise((resolve, reject) => {
      const tooLate = setTimeout(() => reject(new Error(`no address within the limit:\n${this.#log}`)), START_LIMIT);
      const read = (chunk) => {
        this.#log += chunk;
        const link = /http:\/\/127\.0\.0\.1:\d+\/sign-in\?token=\S+/.exec(this.#log.slice(this.seen ?? 0))?.[0];
        const address = /http:\/\/127\.0\.0\.1:\d+/.exec(this.#log.slice(this.seen ?? 0))?.[0];
        // The link is printed at the first start; after that the session of the browser goes on.
        if (link) this.link = link;
        if (link ?? (this.link && address)) {
          this.inside = new URL(link ?? address).origin;
          clearTimeout(tooLate);
          resolve();
        }
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`ended with ${code}:\n${this.#log}`)));
    });
    this.seen = this.#log.length;
  }
}
