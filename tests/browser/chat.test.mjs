import { assert, assertSameBytes, drawn, ended, messagesOf, reload, replies, say, story, tell, textOf, transcriptOf, underWay } from "./stage.mjs";

story("a Player follows the one-time link and is answered", {}, async ({ page }) => {
  await page.getByTestId("rehearsal-notice").waitFor();
  await say(page, "Good morning!\nIs anybody here?");
  await ended(page, "complete");

  const messages = await messagesOf(page);
  assert.deepEqual(messages.map((message) => message.role), ["player", "npc"]);
  assert.equal(textOf(messages[0]), "Good morning!\nIs anybody here?");
  assert.notEqual(textOf(messages[1]).trim(), "");
  const [mine] = await drawn(page);
  assert.equal(mine.text[0], "Good morning!\nIs anybody here?", "line breaks are kept");
  assert.equal(await page.locator("textarea").inputValue(), "");
  // Once the first message is there, the Conversation has a name in the list.
  await page.getByRole("navigation").getByText("Good morning! Is anybody here?").waitFor();
});

story("a reload shows the same transcript, byte for byte", {}, async ({ page }) => {
  await say(page, "Show me some markdown, and think first.");
  await ended(page, "complete");
  await say(page, "And then?");
  await ended(page, "complete");
  const streamed = { transcript: await transcriptOf(page), drawn: await drawn(page) };
  await reload(page);
  assertSameBytes(await transcriptOf(page), streamed.transcript);
  assert.deepEqual(await drawn(page), streamed.drawn);
});

story("a reload in the middle of a reply loses and doubles nothing", { tokensPerSecond: 100 }, async ({ page }) => {
  await say(page, "Tell me a long story.");
  await underWay(page, 10);
  await reload(page);
  await ended(page, "complete");
  const continued = await transcriptOf(page);
  await reload(page);
  assertSameBytes(await transcriptOf(page), continued);
});

story("Stop keeps exactly what was shown", { tokensPerSecond: 8 }, async ({ page }) => {
  await say(page, "Tell me a long story.");
  await underWay(page, 10);
  const before = textOf((await messagesOf(page)).at(-1));
  await page.getByRole("button", { name: "Stop" }).click();
  await ended(page, "aborted");
  await page.getByText("Stopped").waitFor();

  const stopped = { transcript: await transcriptOf(page), drawn: await drawn(page) };
  assert.ok(textOf(JSON.parse(stopped.transcript).at(-1)).startsWith(before));
  await reload(page);
  assertSameBytes(await transcriptOf(page), stopped.transcript);
  assert.deepEqual(await drawn(page), stopped.drawn);
});

story("Regenerate replaces the reply and does not post the text again", {}, async ({ page }) => {
  let posted = 0;
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().endsWith("/messages")) posted += 1;
  });
  await say(page, "Say it once.");
  await ended(page, "complete");
  const [mine, first] = await messagesOf(page);

  await page.getByRole("button", { name: "Regenerate" }).click();
  await page.waitForFunction((id) => !document.querySelector(`[data-message-id="${id}"]`), first.id);
  await ended(page, "complete");

  const after = await messagesOf(page);
  assert.equal(after.length, 2);
  assert.deepEqual(after[0], mine);
  assert.notEqual(after[1].id, first.id);
  assert.equal(posted, 1);
  const made = await transcriptOf(page);
  await reload(page);
  assertSameBytes(await transcriptOf(page), made);
});

story("a second tab sees the same, whoever speaks", { tokensPerSecond: 100 }, async ({ page, context }) => {
  await say(page, "Tell me a long story.");
  await underWay(page, 10);
  const other = await context.newPage();
  await other.goto(page.url());
  await replies(other).first().waitFor();
  await ended(page, "complete");
  await ended(other, "complete");
  assertSameBytes(await transcriptOf(other), await transcriptOf(page));
  assert.deepEqual(await drawn(other), await drawn(page));

  await say(other, "I speak from the other tab.");
  await page.getByText("I speak from the other tab.").first().waitFor();
  await ended(page, "complete");
  await ended(other, "complete");
  assertSameBytes(await transcriptOf(other), await transcriptOf(page));
});

story("what is refused goes back to where it was typed", { tokensPerSecond: 10, forgiven: /status of 429/ }, async ({ page }) => {
  await say(page, "Tell me a long story.");
  await underWay(page, 10);
  const id = new URL(page.url()).pathname.split("/").at(-1);
  for (let n = 1; n <= 20; n += 1) await tell(page, id, `Waiting ${n}`, "enqueue");
  await page.locator("textarea").fill("One too many");
  await page.locator("textarea").press("Enter");
  await page.getByTestId("trouble").getByText("QUEUE_FULL").waitFor();
  assert.equal(await page.locator("textarea").inputValue(), "One too many");
  assert.ok(!(await transcriptOf(page)).includes("One too many"));
});

story("a Conversation that is deleted is gone in every tab", { forgiven: /status of 404/, agree: true }, async ({ page, context }) => {
  await say(page, "Forget this.");
  await ended(page, "complete");
  const other = await context.newPage();
  await other.goto(page.url());
  await replies(other).first().waitFor();

  await page.getByRole("button", { name: "Delete Forget this." }).click();
  await page.waitForURL((url) => url.pathname === "/");
  await other.getByText("This conversation is gone").waitFor({ timeout: 60_000 });
});
