// What an NPC does in its reply: the calls of Tools and what came of them, the Player's word on them, and the way on
// behind a reply that did not come to its end.

import { ask, assert, assertSameBytes, ended, grant, messagesOf, open, reload, replies, say, story, transcriptOf, underWay } from "./stage.mjs";

const CALCULATE = 'use calculate {"expression":"6*7"}';
const call = (page) => page.getByTestId("tool-call");
const approval = (page) => page.getByTestId("approval");
const idOf = (page) => new URL(page.url()).pathname.split("/").at(-1);

story("a call is one line that opens to its arguments and its result", {}, async ({ page }) => {
  await say(page, CALCULATE);
  await ended(page, "complete");
  assert.equal(await call(page).count(), 1);
  const summary = call(page).locator("summary");
  await summary.getByText("answered").waitFor();
  assert.match(await summary.innerText(), /calculate\s+\{"expression":"6\*7"\}/);
  assert.equal(await page.getByTestId("tool-result").isVisible(), false, "closed, it is one line");
  await summary.focus();
  await page.keyboard.press("Enter");
  assert.match(await page.getByTestId("tool-result").innerText(), /42/);
  assert.match(await call(page).innerText(), /"expression": "6\*7"/);
  const before = await transcriptOf(page);
  await reload(page);
  assertSameBytes(await transcriptOf(page), before);
});

story("a call that fails is told from one that answers", {}, async ({ page }) => {
  await say(page, 'use calculate {"expression":"6*"}');
  await ended(page, "complete");
  await page.locator(".tool.bad").first().getByText("failed").waitFor();
});

story("a call that was granted with a question waits for the Player's word in every tab", {}, async ({ page, context, village }) => {
  await grant(page, "calculate", "always");
  await say(page, CALCULATE);
  await approval(page).waitFor();
  await page.getByTestId("asked").getByText("asks whether calculate may be used").waitFor();
  const other = await open(context, village, idOf(page));
  await approval(other).getByRole("button", { name: "Approve" }).click();
  for (const tab of [page, other]) {
    await ended(tab, "complete");
    await approval(tab).waitFor({ state: "detached" });
    await call(tab).locator("summary").getByText("answered").waitFor();
  }
  assertSameBytes(await transcriptOf(other), await transcriptOf(page));
});

story("a call is denied, and another runs with the Player's own arguments", {}, async ({ page }) => {
  await grant(page, "calculate", "always");
  await say(page, CALCULATE);
  await approval(page).getByRole("button", { name: "Deny" }).click();
  await ended(page, "complete");
  await page.locator(".tool.bad").getByText("failed").waitFor();

  await say(page, `Again: ${CALCULATE}`);
  await approval(page).getByRole("button", { name: "Change the arguments" }).click();
  const field = approval(page).getByLabel("Arguments as JSON");
  await field.fill("{");
  await approval(page).getByText("That is no JSON object yet.").waitFor();
  assert.equal(await approval(page).getByRole("button", { name: "Approve" }).isDisabled(), true);
  await field.fill('{"expression": "10*10"}');
  await approval(page).getByRole("button", { name: "Approve" }).click();
  await ended(page, "complete");
  const results = (await messagesOf(page)).flatMap(({ parts }) => parts.filter((part) => part.type === "tool-result"));
  assert.equal(results.length, 2);
  assert.equal(results[0].isError, true);
  assert.match(JSON.stringify(results[1].output), /100/);
});

story("a word that comes too late is told quietly", { forgiven: /409/ }, async ({ page, context, village }) => {
  await grant(page, "calculate", "always");
  await say(page, CALCULATE);
  await approval(page).waitFor();
  const id = idOf(page);
  // This tab is kept from hearing what the other one says.
  let lost;
  await page.route(`**/api/conversations/${id}/approvals`, async (route) => {
    lost = await route.fetch();
    await route.fulfill({ status: 409, json: { error: { code: "NOT_AWAITING", message: "late", requestId: "r" } } });
  });
  await approval(page).getByRole("button", { name: "Approve" }).click();
  await ended(page, "complete");
  assert.equal(lost.status(), 204);
  assert.equal(await page.getByTestId("trouble").count(), 0);
});

story("a question is answered by keys, which go on at the call", {}, async ({ page }) => {
  await grant(page, "calculate", "always");
  await say(page, CALCULATE);
  await approval(page).getByRole("button", { name: "Approve" }).focus();
  await page.keyboard.press("Enter");
  await ended(page, "complete");
  await page.waitForFunction(() => document.activeElement.closest('[data-testid="tool-call"]') !== null);
  await page.keyboard.press("Enter");
  await page.getByTestId("tool-result").getByText("42").waitFor();
});

story("what a call and its arguments hold is shown, and does nothing", {}, async ({ page }) => {
  const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  await grant(page, "remember", "always");
  await ask(page, "POST", "/api/npcs", { name: hostile, avatar: "https://attacker.invalid/pixel.png" });
  await page.reload();
  await page.getByRole("checkbox", { name: hostile }).check();
  await say(page, `use remember ${JSON.stringify({ text: hostile })}`);
  await approval(page).getByText(hostile).waitFor();
  await approval(page).getByRole("button", { name: "Approve" }).click();
  await ended(page, "complete");
  await call(page).locator("summary").click();
  await page.getByTestId("party").click();
  await page.getByRole("dialog").getByText(hostile).first().waitFor();
  await page.getByRole("button", { name: "What they would be told now" }).click();
  await page.getByTestId("prompt").waitFor();
  const found = await page.evaluate(() => [...document.querySelectorAll("main *")].filter((one) => ["img", "script"].includes(one.localName)).length);
  assert.equal(found, 0);
});

story("behind a reply that was stopped it goes on", { tokensPerSecond: 20 }, async ({ page }) => {
  await say(page, "Tell me a long story.");
  await underWay(page, 10);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText("Stopped").waitFor();
  await page.getByRole("button", { name: "Go on" }).click();
  await replies(page).nth(1).waitFor();
  await ended(page, "complete");
  assert.deepEqual((await messagesOf(page)).map(({ role, status }) => [role, status]), [
    ["player", "complete"],
    ["npc", "aborted"],
    ["npc", "complete"],
  ]);
});

story("behind the step limit it goes on, and nothing is said twice", {}, async ({ page }) => {
  await ask(page, "PATCH", "/api/settings", { stepLimit: 1 });
  await say(page, CALCULATE);
  await ended(page, "failed");
  await page.getByTestId("error").getByText("STEP_LIMIT").waitFor();
  await ask(page, "PATCH", "/api/settings", { stepLimit: 16 });
  await page.getByRole("button", { name: "Go on" }).click();
  await ended(page, "complete");
  assert.equal((await messagesOf(page)).filter(({ role }) => role === "player").length, 1);
});
