// A text that grows piece by piece must be cut into the same blocks as the same text at once: else a reload would show
// another picture than the stream did.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Blocks } from "../src/markdown/blocks";
import { safeAddress, toHtml } from "../src/markdown/parse";

const PIECES = [
  "# Title\n", "word ", "more words", "\n", "\n\n", "- item\n", "  - inner\n", "1. one\n", "\n2. two\n", "> quote\n", "---\n", "===\n",
  "```rust\nfn main() {}\n", "```\n", "```", "~~~\n", "| a | b |\n|---|---|\n", "| 1 | 2 |\n", "<div>\n", "</div>\n", "<!-- c", " -->\n",
  "    code\n", "\t", "**bold**", "`code`", "[a](https://e.org)", "[ref]: https://e.org\n", "\r\n", "\r", "- [ ] do\n", "<script>\n", "</script>",
  "+ plus\n", "* star\n", "10) ten\n", "\\", "&amp;", "~~gone~~", "http://e.org ", "é👨‍👩‍👧", "\u00a0\n", " ", "#", "-", "=",
];

// A small generator with a seed: a failure names its text, and every run reads the same ones.
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test("blocks joined are the text, whatever it is", () => {
  for (let seed = 0; seed < 500; seed += 1) {
    const text = textOf(seed).join("");
    assert.equal(new Blocks().of(text).join("").replace(/\s/g, ""), text.replace(/\s/g, ""), JSON.stringify(text));
  }
});

test("a text that grows ends in the blocks of the whole", () => {
  let differing = 0;
  for (let seed = 0; seed < 2000; seed += 1) {
    const pieces = textOf(seed);
    const growing = new Blocks();
    let text = "";
    let blocks: string[] = [];
    for (const piece of pieces) blocks = growing.of((text += piece));
    const whole = new Blocks().of(text);
    if (JSON.stringify(blocks) !== JSON.stringify(whole)) {
      differing += 1;
      console.log(JSON.stringify({ text, pieces, blocks, whole }));
    }
  }
  assert.equal(differing, 0);
});

test("only web and mail addresses are links", () => {
  assert.equal(safeAddress("https://example.org/a?b"), "https://example.org/a?b");
  assert.equal(safeAddress("mailto:ada@example.org"), "mailto:ada@example.org");
  for (const bad of ["javascript:alert(1)", " javascript:alert(1)", "JaVaScRiPt:1", "data:text/html,x", "vbscript:x", "/api/me", "//e.org", "#x", "file:///etc", "https:"]) {
    assert.equal(safeAddress(bad), null, bad);
  }
});

test("raw HTML becomes text and images become links", () => {
  const html = toHtml('a <img src=x onerror=alert(1)> ![an owl](https://e.org/owl.png) <b>bold</b>');
  assert.ok(!/<img|<b>/.test(html), html);
  assert.match(html, /&#60;img src=x onerror=alert\(1\)&#62;/);
  assert.match(html, /<a href="https:\/\/e\.org\/owl\.png"[^>]*>\[image: an owl\]<\/a>/);
  assert.ok(!toHtml("[x](javascript:alert(1)) [y](data:text/html,1)").includes("<a"));
  assert.ok(!toHtml("<script>\nalert(1)\n</script>\n\n<iframe src=//e.org>").match(/<(script|iframe)/));
});

function textOf(seed: number): string[] {
  const next = random(seed + 1);
  return Array.from({ length: 2 + Math.floor(next() * 14) }, () => PIECES[Math.floor(next() * PIECES.length)]!);
}
