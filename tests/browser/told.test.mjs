// What an NPC was told and would be told, and the summary that stands for the beginning of a long Conversation.

import { ask, assert, ended, say, story } from "./stage.mjs";

const idOf = (page) => new URL(page.url()).pathname.split("/").at(-1);

story("a reply shows what was told for each of its steps, and a Conversation what would be told now", {}, async ({ page }) => {
  await say(page, 'use calculate {"expression":"6*7"} <img src=x>');
  await ended(page, "complete");
  await page.getByRole("button", { name: "What it was told" }).click();
  const panel = page.getByRole("dialog");
  const steps = panel.getByTestId("told-step");
  await steps.nth(1).waitFor();
  assert.equal(await steps.count(), 2);
  assert.equal(await steps.first().locator('[data-role="tool"]').count(), 0);
  await steps.nth(1).locator('[data-role="tool"]').getByText("42").waitFor();
  await steps.first().locator('[data-role="user"]').getByText("<img src=x>").waitFor();
  assert.equal(await panel.locator("img[src=x]").count(), 0, "it is text");
  const identity = steps.first().getByTestId("prompt-block").filter({ hasText: /^Identity/ });
  await identity.locator("summary").click();
  assert.match(await identity.locator("pre").innerText(), /You are /);
  await page.keyboard.press("Escape");

  await page.getByTestId("party").click();
  await panel.getByRole("button", { name: "What they would be told now" }).click();
  await panel.getByTestId("prompt").getByText(/about [\d,]+ tokens/).waitFor();
  await panel.getByRole("button", { name: "Summary" }).click();
  await panel.getByText("There is no summary").waitFor();
});

story("a summary is read, edited and undone", { tokensPerSecond: 0 }, async ({ page }) => {
  await ask(page, "PATCH", "/api/settings", { windowTokens: 2000 });
  const id = await longTalk(page);
  await page.goto(`/c/${id}`.replace(/^/, new URL(page.url()).origin));
  await page.locator("[data-message-id]").first().waitFor();
  await page.getByTestId("party").click();
  const panel = page.getByRole("dialog");
  await panel.getByRole("button", { name: "Summary" }).click();
  await panel.getByText(/Version \d+, made by .*, covers messages \d+ to \d+/).first().waitFor();
  const before = await panel.locator(".summary-text").innerText();
  await panel.getByRole("button", { name: "Edit" }).click();
  await panel.getByLabel("Summary", { exact: true }).fill("They walked through the village.");
  await panel.getByRole("button", { name: "Save" }).click();
  await panel.getByText("made by you").first().waitFor();
  assert.equal(await panel.locator(".summary-text").innerText(), "They walked through the village.");
  await panel.getByRole("button", { name: "Undo this version" }).click();
  await panel.locator(".summary-text").filter({ hasNotText: "They walked" }).waitFor();
  assert.equal(await panel.locator(".summary-text").innerText(), before);
});

/** A Conversation with more words than the window takes. */
async function longTalk(page) {
  const { items } = await ask(page, "GET", "/api/npcs");
  const { id } = await ask(page, "POST", "/api/conversations", { npcIds: [items[0].id] });
  for (let turn = 0; turn < 6; turn += 1) {
    await ask(page, "POST", `/api/conversations/${id}/messages`, { text: `A long walk, number ${turn}.`, onBusy: "enqueue" });
  }
  for (let tries = 0; tries < 120; tries += 1) {
    const { turn } = await ask(page, "GET", `/api/conversations/${id}/messages`);
    if (turn === null && (await ask(page, "GET", `/api/conversations/${id}/summary`)).summary) return id;
    await page.waitForTimeout(250);
  }
  throw new Error("no summary was made");
}
