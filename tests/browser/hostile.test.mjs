// What a Player sends and what a model answers may be written by an attacker. It is shown, and does nothing.

import { assert, assertSameBytes, drawn, ended, messagesOf, reload, replies, say, story, textOf, transcriptOf } from "./stage.mjs";

const HOSTILE = [
  "<img src=x onerror=alert(1)>",
  '<img src="https://attacker.invalid/pixel.png">',
  "<script>alert(2)</script>",
  '<iframe src="https://attacker.invalid/frame"></iframe>',
  "<svg onload=alert(3)><style>@import 'https://attacker.invalid/s.css';</style></svg>",
  "<p style=\"background:url(https://attacker.invalid/bg)\" onclick=alert(4)>click</p>",
  '<form action="https://attacker.invalid"><button>send</button></form>',
  "![owl](https://attacker.invalid/owl.png)",
  "![owl](javascript:alert(5))",
  "[press](javascript:alert(6))",
  "[press](JaVaScRiPt&colon;alert(7))",
  "[press](data:text/html,<script>alert(8)</script>)",
  '[title](https://example.org "x\\" onmouseover=alert(9) y=\\"")',
  "<a href='vbscript:x'>x</a> <https://example.org/plain> <javascript:alert(10)>",
  "[own](/api/me) [relative](//attacker.invalid/x)",
  '```"><img src=x onerror=alert(11)>\n</code></pre><img src=x onerror=alert(12)>\n```',
  "| a |\n|---|\n| <img src=x onerror=alert(13)> |",
  "<!-- --><math><mtext><table><mglyph><style><img src=x onerror=alert(14)>",
].join("\n\n");

story("hostile Markdown is shown and does nothing", {}, async ({ page }) => {
  await say(page, `echo: ${HOSTILE}`);
  await ended(page, "complete");
  const messages = await messagesOf(page);
  assert.equal(textOf(messages[0]), `echo: ${HOSTILE}`);
  assert.equal(textOf(messages[1]), HOSTILE, "the NPC says it back, whole");

  const check = async () => {
    const found = await page.evaluate(() => {
      const messages = document.querySelector('[data-testid="messages"]');
      const elements = [...messages.querySelectorAll("*")];
      return {
        tags: [...new Set(elements.map((element) => element.localName))],
        links: [...messages.querySelectorAll("a")].map((link) => [link.href, link.target, link.rel]),
        attributes: [...new Set(elements.flatMap((element) => element.getAttributeNames()))],
      };
    });
    const unwanted = ["img", "script", "iframe", "svg", "style", "form", "math", "object", "embed", "video", "input"];
    assert.deepEqual(found.tags.filter((tag) => unwanted.includes(tag)), []);
    assert.deepEqual(found.attributes.filter((name) => name.startsWith("on") || ["style", "src", "srcset"].includes(name)), []);
    assert.ok(found.links.length > 0);
    for (const [href, target, rel] of found.links) {
      assert.match(href, /^https:\/\/(example\.org|attacker\.invalid)\//);
      assert.equal(target, "_blank");
      assert.equal(rel, "noopener noreferrer nofollow");
    }
  };
  await check();
  const [mine, reply] = await drawn(page);
  assert.equal(mine.text.join(""), `echo: ${HOSTILE}`);
  for (const shown of ["<img src=x onerror=alert(1)>", "<iframe", "<svg onload=alert(3)>", "<script>alert(2)</script>"]) {
    assert.ok(reply.text.join("").includes(shown), shown);
  }
  const streamed = { transcript: await transcriptOf(page), drawn: await drawn(page) };
  // Nothing that can be clicked in it runs anything either. Real links would open another page.
  for (const place of await replies(page).getByTestId("text").locator(":not(a, a *)").all()) await place.dispatchEvent("click");
  await reload(page);
  await check();
  assertSameBytes(await transcriptOf(page), streamed.transcript);
  assert.deepEqual(await drawn(page), streamed.drawn);
});
