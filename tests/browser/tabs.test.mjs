// Six connections to a host are all that a browser gives its tabs together, and every open Conversation wants frames: so
// one worker reads them for all tabs. Stories behind a gate count what is asked.

import { assert, assertSameBytes, begin, ended, messagesOf, open, reload, replies, say, story, tell, textOf, transcriptOf, underWay } from "./stage.mjs";

/** How Chromium words a server that is gone. */
const LOST = /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED/;

/** One stream for the whole browser, and nobody reads for itself. */
async function assertOneStream({ gate }) {
  await gate.streaming(1);
  // While one is exchanged for another, the old one's end may still be under way.
  assert.ok(gate.most <= 2, `${gate.most} at once`);
  assert.deepEqual(gate.asked.filter((path) => path.startsWith("/api/conversations/") && path.includes("/frames")), []);
}

story(
  "twenty tabs of one browser stay live, on one Conversation and on ten, and through a restart",
  { tokensPerSecond: 30, forgiven: LOST, gated: true },
  async ({ page, context, village }) => {
    const shared = await begin(page);
    const others = [];
    while (others.length < 10) others.push(await begin(page));
    const here = [];
    while (here.length < 10) here.push(await open(context, village, shared));
    const there = [];
    for (const id of others) there.push(await open(context, village, id));
    const tabs = [...here, ...there];
    const all = (run) => Promise.all(tabs.map(run));

    // None of them speaks: each sees what is said elsewhere.
    for (const id of [shared, ...others]) await tell(page, id, "Good morning.");
    await all((tab) => ended(tab, "complete"));
    await assertOneStream(village);

    for (const id of [shared, ...others]) await tell(page, id, "Tell me a long story.");
    await all((tab) => underWay(tab, 20));
    const shown = await all(async (tab) => textOf((await messagesOf(tab)).at(-1)));
    await village.killHard();
    await all((tab) => tab.getByText("Connection lost").waitFor());
    await village.startAgain();
    await all((tab) => ended(tab, "interrupted"));
    const kept = await all(async (tab) => textOf((await messagesOf(tab)).at(-1)));
    shown.forEach((text, n) => assert.ok(kept[n].startsWith(text), `tab ${n} was shown what is not there`));

    for (const id of [shared, ...others]) await tell(page, id, "Are you back?");
    await all((tab) => ended(tab, "complete"));
    await assertOneStream(village);

    const lived = await all(transcriptOf);
    assert.equal(JSON.parse(lived[0]).length, 6);
    for (const [n, tab] of tabs.entries()) {
      await reload(tab);
      assertSameBytes(await transcriptOf(tab), lived[n]);
    }
    await assertOneStream(village);
  },
);

story(
  "a tab that is closed, and one that crashes, take nothing from the others",
  { tokensPerSecond: 40, gated: true },
  async ({ page, context, village, pageIn }) => {
    const [first, second] = [await begin(page), await begin(page)];
    // The worker lives in the process of the tab that starts it.
    const host = await pageIn(() => open(context, village, first));
    const guest = await pageIn(() => open(context, village, second));
    const closed = await open(context, village, first);
    const left = await open(context, village, first);

    await tell(page, first, "Tell me a long story.");
    await underWay(left, 10);
    await closed.close();
    await guest.crash();
    await ended(left, "complete");
    assertSameBytes(await transcriptOf(left), await transcriptOf(host.page));
    await assertOneStream(village);

    await tell(page, first, "Tell me a long story.");
    await underWay(left, 10);
    await host.crash();
    // What comes after this is read by another worker.
    await tell(page, first, "And then?", "enqueue");
    await left.getByText("And then?").first().waitFor({ timeout: 60_000 });
    await ended(left, "complete");
    assert.equal((await messagesOf(left)).length, 6);
    const lived = await transcriptOf(left);
    await reload(left);
    assertSameBytes(await transcriptOf(left), lived);
    await assertOneStream(village);
  },
);

story("a tab that stands still holds up nobody, and catches up when it moves again", { tokensPerSecond: 60, gated: true }, async ({ page, context, village }) => {
  const id = await begin(page);
  const [still, other] = [await open(context, village, id), await open(context, village, id)];
  // As a tab does that the browser has frozen: its script stops, and what is said to it is kept for it.
  const session = await context.newCDPSession(still);
  await session.send("Debugger.enable");
  await session.send("Debugger.pause");
  await tell(page, id, "Tell me a long story.");
  await ended(other, "complete");
  await session.send("Debugger.disable");
  await ended(still, "complete");
  assertSameBytes(await transcriptOf(still), await transcriptOf(other));
  await assertOneStream(village);
});

story("the worker is of the page's own build, kept for ever, and may talk to nobody else", { gated: true }, async ({ page, context, village }) => {
  await open(context, village, await begin(page));
  const address = village.gate.asked.find((path) => path.includes("worker"));
  assert.match(address, /^\/assets\/worker-[A-Z0-9]{8}\.js$/);
  const script = village.gate.asked.find((path) => path.startsWith("/assets/app-") && path.endsWith(".js"));
  assert.ok((await (await page.request.get(village.url + script)).text()).includes(address));
  const headers = (await page.request.get(village.url + address)).headers();
  assert.equal(headers["content-security-policy"], "default-src 'none'; connect-src 'self'");
  assert.equal(headers["cache-control"], "public, max-age=31536000, immutable");
});

const ALONE = { without: "SharedWorker", gated: true };

story("a browser without shared workers reads a stream for each tab", ALONE, async ({ page, context, village }) => {
  await say(page, "Good morning.");
  await ended(page, "complete");
  const other = await context.newPage();
  await other.goto(page.url());
  await replies(other).first().waitFor();
  await say(other, "I speak from the other tab.");
  await ended(page, "complete");
  await ended(other, "complete");
  assertSameBytes(await transcriptOf(page), await transcriptOf(other));
  await village.gate.streaming(2);
  assert.ok(village.gate.streams.every((path) => path.startsWith("/api/conversations/")));
});

/** A headless browser takes every page for visible. */
const turn = (page, visibility) =>
  page.evaluate((state) => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, visibility);

story("there, tabs out of sight leave room for others, and catch up when they are looked at", ALONE, async ({ page, context }) => {
  await say(page, "Good morning.");
  await ended(page, "complete");
  const tabs = [page];
  while (tabs.length < 7) {
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
