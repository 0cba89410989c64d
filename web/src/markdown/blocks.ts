// Cuts a growing Markdown text into its top-level blocks, so that each piece that arrives costs a look at the last block
// only, however long the text before it is.

import { tokensOf } from "./parse";

export class Blocks {
  /** Blocks that nothing behind them can change any more. */
  #settled: string[] = [];
  /** Where the unsettled rest begins in the text. */
  #from = 0;
  #text = "";

  /**
   * The blocks of the text, in order; joined they are the text. A text that continues the one before is read from its
   * last blocks on.
   */
  of(text: string): string[] {
    if (!text.startsWith(this.#text)) {
      this.#settled = [];
      this.#from = 0;
    }
    this.#text = text;
    this.#settle(text.slice(this.#from, text.lastIndexOf("\n") + 1));
    return [...this.#settled, ...rawBlocks(text.slice(this.#from))].filter((raw) => raw.trim() !== "");
  }

  /**
   * Only whole lines settle anything: "-" alone begins a list and "-5" does not. The last block may still grow, and
   * blank lines behind it belong to whatever it becomes.
   */
  #settle(lines: string): void {
    if (lines === "") return;
    const raws = rawBlocks(lines);
    let open = raws.length - 1;
    while (open > 0 && raws[open]!.trim() === "") open -= 1;
    for (const raw of raws.slice(0, open)) {
      this.#settled.push(raw);
      this.#from += raw.length;
    }
  }
}

/** The source of each top-level token. marked reads \r\n as \n and says so in `raw`, hence the walk along the text. */
function rawBlocks(text: string): string[] {
  const raws: string[] = [];
  let at = 0;
  for (const token of tokensOf(text)) {
    const begin = at;
    for (const sign of token.raw) {
      if (sign === "\n" && text[at] === "\r") at += text[at + 1] === "\n" ? 2 : 1;
      else at += sign.length;
    }
    raws.push(text.slice(begin, at));
  }
  if (at < text.length) raws.push(text.slice(at));
  return raws;
}
