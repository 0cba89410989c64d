// Six connections to a host are all that a browser gives its tabs together, and every open Conversation wants a stream.

import { assert, assertSameBytes, ended, replies, say, story, transcriptOf } from "./stage.mjs";

/** A headless browser takes every page for visible. */
const turn = (page, visibility) =>
  page.evaluate((state) => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, visibility);

story("tabs out of sight leave room for others, and catch up when they are looked at", {}, async ({ page, context }) => {
  await say(page, "Good morning.");
  await ended(page, "complete");
  const tabs = [page];
  while (tabs.length < 9) {
    const streamEnded = tabs.at(-1).waitForEvent("requestfailed", (request) => request.url().includes("/frames?"));
    await turn(tabs.at(-1), "hidden");
    await streamEnded;
    const tab = await context.newPage();
    await tab.goto(page.url());
    await replies(tab).first().waitFor();
    tabs.push(tab);
  }
  const last = tabs.at(-1);
  await say(last, "Who is still here?");
  await ended(last, "complete");
  assert.equal(await replies(page).count(), 1, "nobody looks at it");

  await turn(page, "visible");
  await page.getByText("Who is still here?").first().waitFor();
  await ended(page, "complete");
  assertSameBytes(await transcriptOf(page), await transcriptOf(last));
});
