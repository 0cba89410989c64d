// Several NPCs in one Conversation: how a Party is made and changed, who is addressed, how one hands over to another, and
// what is said where the limit keeps that from happening.

import { ask, assert, ended, messagesOf, reload, replies, say, story } from "./stage.mjs";

const idOf = (page) => new URL(page.url()).pathname.split("/").at(-1);
const HAND_OVER = 'use message_npc {"npc":"Bo","message":"echo: hello from the bakery"}';
const speakers = async (page) => (await messagesOf(page)).filter(({ role }) => role === "npc").map(({ author }) => author.name);

/** Two who live here beside those who do anyway; the first screen is drawn anew, with both chosen and nobody else. */
async function partyOfTwo(page) {
  await ask(page, "POST", "/api/npcs", { name: "Ann Marie", avatar: "🌻" });
  await ask(page, "POST", "/api/npcs", { name: "Bo" });
  await page.reload();
  await page.getByTestId("npc").filter({ hasText: "Bo" }).waitFor();
  for (const box of await page.getByTestId("npc").getByRole("checkbox").all()) await box.uncheck();
  for (const name of ["Ann Marie", "Bo"]) await page.getByRole("checkbox", { name }).check();
}

story("a Party is chosen, its replies bear names and signs, and one hands over to another", {}, async ({ page }) => {
  await partyOfTwo(page);
  await say(page, HAND_OVER);
  await replies(page).nth(1).waitFor();
  await ended(page, "complete");
  assert.deepEqual(await speakers(page), ["Ann Marie", "Bo"]);
  assert.match(await page.getByTestId("hand-over").innerText(), /^Ann Marie handed over to Bo: echo: hello from the bakery$/);
  assert.equal(await replies(page).first().getByTestId("tool-call").count(), 0, "a hand-over is no tool to look into");
  assert.match(await replies(page).first().locator(".author").innerText(), /🌻\s*Ann Marie/);
  assert.match(await page.getByTestId("party").innerText(), /Ann Marie, Bo/);
});

story("an @ at the beginning is completed by keys, and says who answers", {}, async ({ page }) => {
  await partyOfTwo(page);
  await say(page, "echo: hi");
  await ended(page, "complete");
  const field = page.getByLabel("Message", { exact: true });
  await field.pressSequentially("@");
  await page.getByTestId("mentions").getByRole("option").nth(1).waitFor();
  await field.press("ArrowDown");
  assert.equal(await page.getByRole("option", { selected: true }).innerText(), "@Bo");
  await field.press("Escape");
  await page.getByTestId("mentions").waitFor({ state: "detached" });
  await field.fill("");
  await field.pressSequentially("@b");
  await field.press("Enter");
  assert.equal(await field.inputValue(), "@Bo ");
  await field.pressSequentially("are you there?");
  await field.press("Enter");
  await replies(page).nth(1).waitFor();
  await ended(page, "complete");
  assert.deepEqual(await speakers(page), ["Ann Marie", "Bo"]);
});

story("where the limit keeps one from handing over, more is allowed and the other answers", {}, async ({ page }) => {
  await partyOfTwo(page);
  await ask(page, "PATCH", "/api/settings", { hopLimit: 0 });
  await say(page, HAND_OVER);
  await page.getByTestId("error").getByText("HOP_LIMIT").waitFor();
  assert.match(await page.getByTestId("hand-over").innerText(), /^Ann Marie wanted to hand over to Bo/);
  await page.getByLabel("More hand-overs").fill("1");
  await page.getByRole("button", { name: "Allow more hand-overs" }).click();
  await replies(page).nth(1).waitFor();
  await ended(page, "complete");
  assert.deepEqual(await speakers(page), ["Ann Marie", "Bo"]);
});

story("who takes part, who answers and what newcomers know are set while one talks", {}, async ({ page }) => {
  await partyOfTwo(page);
  await page.getByRole("checkbox", { name: "Bo" }).uncheck();
  await say(page, "echo: hi");
  await ended(page, "complete");
  await page.getByTestId("party").click();
  const panel = page.getByRole("dialog");
  await panel.getByRole("checkbox", { name: "Bo" }).check();
  await panel.getByLabel("Who answers").selectOption("everyone-once");
  await panel.getByLabel("What who joins later is told").selectOption("all");
  await panel.getByLabel("Title").fill("The two of them");
  await panel.getByRole("button", { name: "Save" }).click();
  await panel.getByText("Saved.").waitFor();
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  assert.match(await page.getByTestId("party").innerText(), /Ann Marie, Bo/);
  await page.getByRole("heading", { name: "The two of them" }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), "party", "the focus is given back");

  const set = await ask(page, "GET", `/api/conversations/${idOf(page)}`);
  assert.deepEqual([set.speakerPolicy, set.newcomersKnow, set.title], ["everyone-once", "all", "The two of them"]);
  await say(page, "echo: all of you");
  await replies(page).nth(2).waitFor();
  await ended(page, "complete");
  assert.deepEqual(await speakers(page), ["Ann Marie", "Ann Marie", "Bo"]);
  await reload(page);
  await page.getByTestId("party").click();
  assert.equal(await page.getByRole("dialog").getByLabel("Who answers").inputValue(), "everyone-once");
});
