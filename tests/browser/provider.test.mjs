// Who answers: the rehearsal says what it is, and an admin brings a Provider of their own.

import { moveIn, openHouse } from "./house.mjs";
import { assert, assertSameBytes, ended, messagesOf, reload, replies, say, story, textOf, transcriptOf } from "./stage.mjs";

story("a title that a model gives later is in the head and in the list, and no words of the reply", {}, async ({ page }) => {
  const house = await openHouse((text) => [text.includes("<conversation>") ? "Of bread and its makers" : "Bread it is."]);
  try {
    await moveIn(page, house);
    await say(page, "What shall we have?");
    await ended(page, "complete");
    await page.getByRole("heading", { level: 1, name: "Of bread and its makers" }).waitFor();
    await page.getByRole("navigation", { name: "Conversations" }).getByText("Of bread and its makers").waitFor();
    const notices = async () => (await messagesOf(page)).at(-1).parts.filter((part) => part.type === "notice");
    assert.equal((await notices()).length, 1);
    assert.equal(await page.getByTestId("messages").getByText("Of bread and its makers").count(), 0);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Of bread and its makers" }).waitFor();
    await replies(page).first().waitFor();
    assert.equal(await page.getByTestId("messages").getByText("Of bread and its makers").count(), 0);
  } finally {
    house.close();
  }
});

story("the first screen says that no language model answers", {}, async ({ page }) => {
  const notice = page.getByTestId("rehearsal-notice");
  await notice.getByText("It is no language model").waitFor();
  await notice.locator("summary").click();
  await notice.getByText("OPENAI_API_KEY").waitFor();
});

story("a rehearsal that fails is told under what had come, and the next message works", {}, async ({ page }) => {
  await say(page, "Please fail.");
  await ended(page, "failed");
  const failed = (await messagesOf(page)).at(-1);
  assert.notEqual(textOf(failed), "", "what had come is kept");
  assert.equal(failed.error.code, "PROVIDER_ERROR");
  await replies(page).last().getByTestId("error").getByText("PROVIDER_ERROR").waitFor();
  const streamed = await transcriptOf(page);
  await reload(page);
  assertSameBytes(await transcriptOf(page), streamed);
  await replies(page).last().getByTestId("error").getByText("PROVIDER_ERROR").waitFor();

  await say(page, "And now?");
  await ended(page, "complete");
});

story("an admin adds a Provider by the form, and it answers", {}, async ({ page }) => {
  const house = await openHouse((text) => (text.includes("break") ? ["Half of ", "an ", new Error("on fire")] : ["All ", "*well*."]));
  try {
    await moveIn(page, house);
    await page.getByTestId("answerer").getByText("house-1").waitFor();
    await say(page, "How is it?");
    await ended(page, "complete");
    assert.equal(textOf((await messagesOf(page)).at(-1)), "All *well*.");
    await replies(page).last().locator("em").getByText("well").waitFor();

    await say(page, "Please break.");
    await ended(page, "failed");
    const failed = (await messagesOf(page)).at(-1);
    assert.equal(textOf(failed), "Half of an ");
    assert.equal(failed.error.code, "PROVIDER_ERROR");
  } finally {
    house.close();
  }
});
