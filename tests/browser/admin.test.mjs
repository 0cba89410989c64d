// The operators' page against a real server: what it shows, what it does, and whom it refuses.

import { assert, ended, messagesOf, say, story, textOf, underWay } from "./stage.mjs";

const actors = (desk, wanted = "") => desk.locator(`[data-testid="actor"]${wanted}`);

story("an operator sees a turn run, stops it, and all of it is written down", { tokensPerSecond: 8, agree: true }, async ({ page, context, village }) => {
  await say(page, "Tell me a long story.");
  await underWay(page, 10);
  await page.getByRole("link", { name: "Actors" }).waitFor();

  const desk = await context.newPage();
  await desk.goto(`${village.url}/admin`);
  await actors(desk, '[data-state="running"][data-phase="streaming"]').waitFor();
  assert.equal(await desk.getByTestId("count-running").innerText(), "1 running");
  assert.equal(await desk.getByText("Tell me a long story.").count(), 0, "a title is text of the conversation");

  await actors(desk).getByRole("button").press("Enter");
  const drawer = desk.getByTestId("drawer");
  await drawer.getByText("Running for").waitFor();
  assert.ok(await drawer.locator("h2").evaluate((heading) => heading === document.activeElement));
  const age = () => drawer.locator("dt", { hasText: "Running for" }).locator("+ dd").innerText();
  const before = await age();
  await desk.waitForFunction(
    (earlier) => [...document.querySelectorAll(".fields dd")].every((field) => field.textContent !== earlier),
    before,
  );

  await drawer.getByRole("button", { name: "Stop the turn" }).click();
  await ended(page, "aborted");
  await actors(desk, '[data-state="idle"]').waitFor();
  assert.ok(await drawer.getByRole("button", { name: "Stop the turn" }).isDisabled());
  await desk.getByTestId("said").getByText("The turn was stopped.").waitFor({ state: "attached" });

  // What was said is shown when it is asked for, and that it was is written down.
  const reply = textOf((await messagesOf(page)).at(-1));
  assert.equal(await drawer.getByText("Tell me a long story.").count(), 0);
  await drawer.getByRole("button", { name: "Show what was said" }).click();
  await drawer.locator("pre").getByText("Tell me a long story.").waitFor();
  const shown = await drawer.locator("pre").allInnerTexts();
  assert.ok(shown.some((text) => reply.startsWith(text.trim().slice(0, 10))), `${reply} is not among ${shown}`);

  await desk.keyboard.press("Escape");
  await drawer.waitFor({ state: "detached" });
  assert.ok(await actors(desk).getByRole("button").evaluate((button) => button === document.activeElement));
  await desk.getByRole("button", { name: "Audit" }).click();
  await desk.getByTestId("audit").nth(1).waitFor();
  const deeds = await desk.getByTestId("audit").evaluateAll((rows) => rows.map((row) => [row.dataset.action, row.dataset.outcome]));
  assert.deepEqual(deeds, [["read-text", "ok"], ["abort", "ok"]]);
});

story("filters, the page of the list and the drawer follow what is asked for", { tokensPerSecond: 400 }, async ({ page, context, village }) => {
  await say(page, "Good morning.");
  await ended(page, "complete");
  const desk = await context.newPage();
  await desk.goto(`${village.url}/admin`);
  await actors(desk, '[data-state="idle"]').waitFor();
  await desk.getByTestId("count-quarantined").click();
  await desk.getByText("No actor is like that now.").waitFor();
  await desk.getByRole("button", { name: "all" }).click();
  await actors(desk).waitFor();
  await desk.getByLabel("Player").fill("nobody");
  await desk.getByText("No actor is like that now.").waitFor();
  await desk.getByLabel("Player").fill("ADMIN");
  await actors(desk).waitFor();
  // Somebody begins to talk: the new one is first.
  await page.goto(village.url);
  await say(page, "And another one.");
  await desk.waitForFunction(() => document.querySelectorAll('[data-testid="actor"]').length === 2);
  const ids = await actors(desk).evaluateAll((rows) => rows.map((row) => row.dataset.id));
  assert.equal(new URL(page.url()).pathname, `/c/${ids[0]}`);
});

story("the operators' page finds its way back after a restart", { forgiven: /ERR_|status of 50/ }, async ({ page, context, village }) => {
  await say(page, "Good morning.");
  await ended(page, "complete");
  const desk = await context.newPage();
  await desk.goto(`${village.url}/admin`);
  await actors(desk).waitFor();
  await village.killHard();
  await desk.getByText("Connection lost.").waitFor();
  await village.startAgain();
  await desk.getByText("Connection lost.").waitFor({ state: "detached", timeout: 60_000 });
  await say(page, "Are you there?");
  await actors(desk).waitFor({ timeout: 60_000 });
});

story("a Player who is no admin is refused, on the page and behind it", {}, async ({ page, context, village }) => {
  const made = await page.evaluate(async () => {
    const body = JSON.stringify({ name: "quill", password: "correct horse" });
    return (await fetch("/api/users", { method: "POST", headers: { "content-type": "application/json" }, body })).status;
  });
  assert.equal(made, 201);
  const player = await (await context.browser().newContext()).newPage();
  await player.goto(`${village.url}/admin`);
  await player.getByLabel("Name").fill("quill");
  await player.getByLabel("Password").fill("correct horse");
  await player.getByRole("button", { name: "Sign in" }).click();
  await player.getByTestId("trouble").getByText("FORBIDDEN").waitFor();
  assert.equal(await player.getByTestId("actor").count(), 0);
  for (const path of ["/admin/actors", "/admin/events", "/admin/audit", "/metrics"]) {
    assert.equal(await player.evaluate(async (at) => (await fetch(at)).status, path), 403, path);
  }
  await player.getByRole("link", { name: "Back to the Village" }).click();
  await player.getByTestId("npc").first().waitFor();
  assert.equal(await player.getByRole("link", { name: "Actors" }).count(), 0);
});
