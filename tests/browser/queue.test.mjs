// What may be said while a reply is being written, and what may be changed of what was said: in every tab alike.

import { assert, assertSameBytes, drawn, ended, messagesOf, open, reload, replies, say, story, textOf, transcriptOf, underWay } from "./stage.mjs";

const queue = (page) => page.getByTestId("queue").locator("[data-message-id]");
const texts = async (page) => (await messagesOf(page)).map(textOf);

/** Types and sends without waiting for it to be said. */
async function type(page, text) {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.getByLabel("Message", { exact: true }).press("Enter");
}

const idOf = (page) => new URL(page.url()).pathname.split("/").at(-1);

/** All tabs show the same, and a reload shows it too. */
async function assertAgreed(...pages) {
  const found = await transcriptOf(pages[0]);
  for (const page of pages) {
    assertSameBytes(await transcriptOf(page), found);
    assert.deepEqual(await drawn(page), await drawn(pages[0]));
  }
  await reload(pages[0]);
  assertSameBytes(await transcriptOf(pages[0]), found);
}

story("what is sent while a reply is written waits, is changed in any tab, and is said in its turn", { tokensPerSecond: 60 }, async ({ page, context, village }) => {
  await say(page, "Tell me a long story.");
  await underWay(page, 10);
  const other = await open(context, village, idOf(page));
  await type(page, "Second");
  await type(page, "Third");
  for (const tab of [page, other]) await queue(tab).nth(1).getByText("Third").waitFor();
  assert.equal(await page.getByTestId("paused").count(), 0, "it goes on by itself");

  await queue(other).first().getByRole("button", { name: "Edit" }).click();
  await other.getByLabel("Edit message").fill("Second, shorter");
  await other.getByLabel("Edit message").press("Enter");
  await queue(page).first().getByText("Second, shorter").waitFor();
  await queue(page).nth(1).getByRole("button", { name: "Withdraw" }).click();
  await queue(other).nth(1).waitFor({ state: "detached" });

  for (const tab of [page, other]) {
    await queue(tab).first().waitFor({ state: "detached" });
    await ended(tab, "complete");
  }
  const said = await messagesOf(page);
  assert.deepEqual(said.map(({ role, status }) => [role, status]), [
    ["player", "complete"],
    ["npc", "complete"],
    ["player", "complete"],
    ["npc", "complete"],
  ]);
  assert.equal(textOf(said[2]), "Second, shorter");
  await assertAgreed(page, other);
});

story("after Stop what waits is paused in every tab, also after a reload, and goes on when told", { tokensPerSecond: 20 }, async ({ page, context, village }) => {
  await say(page, "Tell me a long story.");
  await underWay(page, 10);
  await type(page, "Second");
  await queue(page).first().waitFor();
  const other = await open(context, village, idOf(page));
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  for (const tab of [page, other]) await tab.getByTestId("paused").getByText("One message waits").waitFor();
  await reload(other);
  await other.getByTestId("paused").getByRole("button", { name: "Go on" }).click();
  for (const tab of [page, other]) {
    await tab.getByTestId("paused").waitFor({ state: "detached" });
    await ended(tab, "complete");
  }
  assert.deepEqual((await messagesOf(page)).map(({ status }) => status), ["complete", "aborted", "complete", "complete"]);
  await assertAgreed(page, other);
});

story("a text that interrupts keeps what was said, and is answered at once", { tokensPerSecond: 10 }, async ({ page }) => {
  await say(page, "Tell me a long story.");
  await underWay(page, 10);
  const shown = textOf((await messagesOf(page)).at(-1));
  await page.getByLabel("Message", { exact: true }).fill("No, something else.");
  await page.getByRole("button", { name: "Stop and say this now" }).click();
  await page.getByText("Stopped").waitFor();
  await ended(page, "complete");
  const said = await messagesOf(page);
  assert.deepEqual(said.map(({ role, status }) => [role, status]), [
    ["player", "complete"],
    ["npc", "aborted"],
    ["player", "complete"],
    ["npc", "complete"],
  ]);
  assert.ok(textOf(said[1]).startsWith(shown));
  await assertAgreed(page);
});

story("a text that steers waits for the next step, and is answered in the same turn", { tokensPerSecond: 30 }, async ({ page }) => {
  await say(page, "Tell me a long story.");
  await underWay(page, 10);
  await type(page, "At the end");
  await queue(page).first().waitFor();
  await page.getByLabel("Message", { exact: true }).fill("In between");
  await page.getByRole("button", { name: "Say it at the next step" }).click();
  await queue(page).first().getByText("In between").waitFor();
  await queue(page).first().getByText("Waits for the next step").waitFor();
  await queue(page).first().waitFor({ state: "detached" });
  await ended(page, "complete");
  const said = await messagesOf(page);
  assert.deepEqual(said.filter(({ role }) => role === "player").map(textOf), ["Tell me a long story.", "In between", "At the end"]);
  assert.equal(said[3].turnId, said[0].turnId);
  assert.notEqual(said[5].turnId, said[0].turnId);
  await assertAgreed(page);
});

story("what was said is edited and answered anew, and what it replaced comes back", {}, async ({ page, context, village }) => {
  await say(page, "Good morning.");
  await ended(page, "complete");
  await say(page, "How are you?");
  await ended(page, "complete");
  const before = await transcriptOf(page);
  const other = await open(context, village, idOf(page));

  const first = page.locator('[data-role="player"]').first();
  await first.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Edit message").fill("Forget it.");
  await page.getByLabel("Edit message").press("Escape");
  assert.equal(await page.getByTestId("editing").count(), 0);
  await page.waitForFunction(() => document.activeElement.getAttribute("aria-label") === "Message");
  assertSameBytes(await transcriptOf(page), before);

  await first.getByRole("button", { name: "Edit" }).click();
  assert.equal(await page.getByLabel("Edit message").inputValue(), "Good morning.");
  await page.getByLabel("Edit message").fill("Good evening.");
  await page.getByRole("button", { name: "Save" }).click();
  for (const tab of [page, other]) {
    await tab.getByText("Good evening.").first().waitFor();
    await ended(tab, "complete");
    assert.equal((await messagesOf(tab)).length, 2);
    await tab.getByTestId("variants").getByText("2/2").waitFor();
  }
  const after = await transcriptOf(page);

  await other.getByRole("button", { name: "Earlier variant" }).click();
  for (const tab of [page, other]) {
    await tab.getByText("How are you?").first().waitFor();
    await tab.getByTestId("variants").getByText("1/2").waitFor();
    assert.deepEqual(await texts(tab), JSON.parse(before).map(textOf));
  }
  await assertAgreed(page, other);
  await page.getByRole("button", { name: "Later variant" }).click();
  for (const tab of [page, other]) {
    await tab.getByTestId("variants").getByText("2/2").waitFor();
    assert.deepEqual(await texts(tab), JSON.parse(after).map(textOf));
  }
  await assertAgreed(other, page);
});

story("a reply that was made anew can be exchanged for the one before", {}, async ({ page }) => {
  await say(page, "Good morning.");
  await ended(page, "complete");
  const [, first] = await messagesOf(page);
  assert.equal(await page.getByTestId("variants").count(), 0);
  await page.getByRole("button", { name: "Regenerate" }).click();
  await page.getByTestId("variants").getByText("2/2").waitFor();
  assert.equal(await page.getByRole("button", { name: "Later variant" }).isDisabled(), true);
  await page.getByRole("button", { name: "Earlier variant" }).click();
  await page.getByTestId("variants").getByText("1/2").waitFor();
  assert.equal((await messagesOf(page))[1].id, first.id);
  // Who turns with the keyboard goes on from there.
  const waits = (name) => page.locator(`[aria-label="${name}"]:focus:enabled`).waitFor();
  await waits("Later variant");
  await page.keyboard.press("Enter");
  await page.getByTestId("variants").getByText("2/2").waitFor();
  await waits("Earlier variant");
  await page.keyboard.press("Enter");
  await page.getByTestId("variants").getByText("1/2").waitFor();
  await assertAgreed(page);
  await page.getByTestId("variants").getByText("1/2").waitFor();
});

story("words that are being changed are kept when their message leaves", { tokensPerSecond: 20 }, async ({ page, context, village }) => {
  await say(page, "Tell me a long story.");
  await underWay(page, 10);
  await type(page, "Second");
  await queue(page).first().waitFor();
  const other = await open(context, village, idOf(page));
  await queue(page).first().getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Edit message").fill("Second, with care");
  await queue(other).first().getByRole("button", { name: "Withdraw" }).click();
  await page.getByTestId("editing").waitFor({ state: "detached" });
  await page.waitForFunction(() => document.querySelector("textarea").value === "Second, with care");
  assert.equal(await replies(page).count(), 1);
});
