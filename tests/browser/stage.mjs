// What every story has: a Village, a headless Chromium that is signed in by the one-time link, and an eye on what a page
// must never do: break its content security policy, log an error, or ask another host for anything.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { Village } from "./village.mjs";

// playwright-core is installed with the page's packages.
const { chromium } = createRequire(new URL("../../web/package.json", import.meta.url))("playwright-core");

const LAUNCH = {
  executablePath: process.env.HAMLET_CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    // A page gets a process that is started for it, so that a story can tell which it is.
    "--disable-features=SpareRendererForSitePerProcess",
  ],
};

/**
 * One story in a Village of its own. `forgiven` names console errors that belong to the story, such as the connection
 * that is refused while the server is down. A story that `agree`s says yes to what the page asks; one `without` something
 * has a browser that lacks it.
 */
export function story(name, { forgiven = /^$/, agree = false, without = null, ...options }, tell) {
  test(name, { timeout: 240_000 }, async (t) => {
    const village = await Village.start(options);
    const browser = await chromium.launch(LAUNCH);
    try {
      const context = await browser.newContext({ viewport: { width: 1100, height: 760 } });
      if (without) await context.addInitScript((name) => delete window[name], without);
      const complaints = watch(context, village, { forgiven, agree });
      const page = await context.newPage();
      await page.goto(village.link);
      await page.getByTestId("npc").first().waitFor();
      await tell({ village, context, page, t, pageIn: (make) => pageInProcess(browser, make) });
      assert.deepEqual(complaints, []);
    } catch (error) {
      t.diagnostic(village.log.slice(-4000));
      throw error;
    } finally {
      await browser.close();
      await village.end();
    }
  });
}

function watch(context, village, { forgiven, agree }) {
  const complaints = [];
  const complain = (what) => {
    if (!forgiven.test(what)) complaints.push(what);
  };
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (!["data:", "blob:"].includes(url.protocol) && url.origin !== village.url) complain(`asked for ${url}`);
  });
  context.on("console", (message) => {
    if (message.type() === "error") complain(`console: ${message.text()}`);
  });
  context.on("weberror", (error) => complain(`uncaught: ${error.error()}`));
  context.on("dialog", (dialog) => {
    if (agree) return void dialog.accept();
    complain(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  // Violations are in the console too, but worded by the browser; these carry the directive.
  void context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  return complaints;
}

/** The page that is made, and a way to have its process die as if it had crashed. */
async function pageInProcess(browser, make) {
  const session = await browser.newBrowserCDPSession();
  const processes = async () => (await session.send("SystemInfo.getProcessInfo")).processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
  const before = await processes();
  const page = await make();
  const made = (await processes()).filter((id) => !before.includes(id));
  await session.detach();
  return {
    page,
    crash: async () => {
      assert.equal(made.length, 1, "the page has a process of its own");
      const crashed = page.waitForEvent("crash");
      process.kill(made[0], "SIGKILL");
      await crashed;
    },
  };
}

/** Asks the API as who is signed in on this page; what it refuses fails the story. */
export async function ask(page, method, path, body) {
  const { status, text } = await page.evaluate(
    async ([method, path, body]) => {
      const headers = { "content-type": "application/json", accept: "application/json" };
      const response = await fetch(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
      return { status: response.status, text: await response.text() };
    },
    [method, path, body],
  );
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

/** Grants a Tool to the first NPC, beside what it has. */
export async function grant(page, tool, approval) {
  const { items: npcs } = await ask(page, "GET", "/api/npcs");
  const path = `/api/npcs/${npcs[0].id}/grants`;
  const { items } = await ask(page, "GET", path);
  await ask(page, "PUT", path, [...items.filter((one) => one.tool !== tool), { tool, approval }]);
}

/** Begins a Conversation without opening it. */
export function begin(page) {
  return page.evaluate(async () => {
    const ask = async (path, body) => (await fetch(path, body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })).json();
    const { items } = await ask("/api/npcs");
    return (await ask("/api/conversations", { npcIds: [items[0].id] })).id;
  });
}

/** Opens it in a tab of its own. */
export async function open(context, village, id) {
  const page = await context.newPage();
  await page.goto(`${village.url}/c/${id}`);
  await page.getByText("Nothing has been said yet.").or(page.locator("[data-message-id]").first()).waitFor();
  return page;
}

/** Says something in a Conversation that this page does not show. */
export async function tell(page, id, text, onBusy = "reject") {
  const status = await page.evaluate(
    async ([id, text, onBusy]) => {
      const headers = { "content-type": "application/json", accept: "application/json" };
      const body = JSON.stringify({ text, onBusy });
      return (await fetch(`/api/conversations/${id}/messages`, { method: "POST", headers, body })).status;
    },
    [id, text, onBusy],
  );
  assert.equal(status, 202);
}

/** Sends the text, from the first screen or in an open Conversation. */
export async function say(page, text) {
  await page.locator("textarea").fill(text);
  await page.locator("textarea").press("Enter");
  await page.waitForURL(/\/c\//);
  await page.locator('[data-role="player"][data-message-id]').filter({ hasText: text.split("\n")[0] }).last().waitFor();
}

export const replies = (page) => page.locator('[data-message-id][data-role="npc"]');

/** Waits until the last thing said is a reply that has ended so. */
export async function ended(page, status) {
  await page.waitForFunction(
    (wanted) => {
      const last = [...document.querySelectorAll(".message")].at(-1);
      return last?.dataset.role === "npc" && last.dataset.status === wanted;
    },
    status,
    { timeout: 60_000 },
  );
}

/** Waits until the newest reply has so much text and is still being written. */
export async function underWay(page, length) {
  await page.waitForFunction(
    (least) => {
      const reply = [...document.querySelectorAll('[data-role="npc"][data-status="running"]')].at(-1);
      return (reply?.querySelector('[data-testid="text"]')?.textContent.length ?? 0) >= least;
    },
    length,
    { timeout: 60_000 },
  );
}

/** The folded transcript, byte for byte. */
export const transcriptOf = (page) => page.evaluate(() => JSON.stringify(window.__hamlet.transcript()));

export async function messagesOf(page) {
  return JSON.parse(await transcriptOf(page));
}

export const textOf = (message) => message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** What is to be seen: each message with its role, state and text as drawn. */
export const drawn = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("[data-message-id]")].map((message) => ({
      id: message.dataset.messageId,
      role: message.dataset.role,
      status: message.dataset.status,
      text: [...message.querySelectorAll('[data-testid="text"]')].map((text) => text.innerText),
    })),
  );

/** Loads the page anew and waits until its transcript is there. */
export async function reload(page) {
  await page.reload();
  await page.locator("[data-message-id]").first().waitFor();
}

/** Says where two transcripts part, instead of showing both. */
export function assertSameBytes(actual, expected) {
  if (actual === expected) return;
  let at = 0;
  while (actual[at] === expected[at]) at += 1;
  const around = (text) => `… ${text.slice(Math.max(0, at - 80), at + 120)} …`;
  assert.fail(`transcripts part at character ${at}:\n  now    ${around(actual)}\n  before ${around(expected)}`);
}

export { assert };
