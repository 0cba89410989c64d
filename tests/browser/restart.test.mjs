// The promise behind all others: what any tab has been shown is stored.

import { assert, assertSameBytes, ended, messagesOf, reload, say, story, textOf, transcriptOf, underWay } from "./stage.mjs";

/** How Chromium words a server that is gone. */
const LOST = /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED/;

story(
  "after kill -9 in the middle of a reply, everything that was shown is there",
  { tokensPerSecond: 10, forgiven: LOST },
  async ({ page, village }) => {
    await say(page, "Good morning.");
    await ended(page, "complete");
    await say(page, "Tell me a long story.");
    await underWay(page, 20);
    await village.killHard();
    await page.getByText("Connection lost").waitFor();
    const shown = await messagesOf(page);
    await village.startAgain();

    // The tab finds its way back by itself, and hears how the reply ended.
    await ended(page, "interrupted");
    await page.getByText("Interrupted when Hamlet stopped").waitFor();
    const after = await messagesOf(page);
    assert.deepEqual(after.slice(0, -1), shown.slice(0, -1));
    assert.equal(after.at(-1).id, shown.at(-1).id);
    assert.ok(textOf(after.at(-1)).startsWith(textOf(shown.at(-1))));
    const found = await transcriptOf(page);
    await reload(page);
    assertSameBytes(await transcriptOf(page), found);

    await say(page, "Are you back?");
    await ended(page, "complete");
    assert.equal((await messagesOf(page)).length, 6);
  },
);

story(
  "a text that could not be sent stays, and is said once when the server is back",
  { forgiven: LOST },
  async ({ page, village }) => {
    await say(page, "Good morning.");
    await ended(page, "complete");
    await village.killHard();
    await page.locator("textarea").fill("Are you there?");
    await page.locator("textarea").press("Enter");
    await page.getByTestId("trouble").waitFor();
    assert.equal(await page.locator("textarea").inputValue(), "Are you there?");

    await village.startAgain();
    await page.locator("textarea").press("Enter");
    await page.getByText("Connection lost").waitFor({ state: "detached" });
    await ended(page, "complete");
    const messages = await messagesOf(page);
    assert.deepEqual(messages.map((message) => message.role), ["player", "npc", "player", "npc"]);
    assert.equal(await page.locator("textarea").inputValue(), "");
  },
);
