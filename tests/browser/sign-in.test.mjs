// The way in: each link works once, and a page without anybody says what to do.

import { assert, ended, replies, say, story } from "./stage.mjs";

story("a link that was used lets nobody else in, and says so", {}, async ({ village, context }) => {
  const stranger = await (await context.browser().newContext()).newPage();
  await stranger.goto(village.link);
  await stranger.getByText("That link is not good any more").waitFor();
  await stranger.getByRole("button", { name: "Sign in" }).waitFor();
  assert.equal(new URL(stranger.url()).search, "", "a reload does not say it again");
});

story("a wrong password is refused with words and a code", {}, async ({ village, context }) => {
  const stranger = await (await context.browser().newContext()).newPage();
  await stranger.goto(village.url);
  await stranger.getByLabel("Name").fill("somebody");
  await stranger.getByLabel("Password").fill("not their password");
  await stranger.getByRole("button", { name: "Sign in" }).click();
  await stranger.getByTestId("trouble").getByText("INVALID_CREDENTIALS").waitFor();
});

story("signing out shows the way in, and going back shows nothing", { forgiven: /status of 401/ }, async ({ page }) => {
  await say(page, "Between you and me.");
  await ended(page, "complete");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Password").waitFor();
  await page.goBack();
  await page.getByLabel("Password").waitFor();
  assert.equal(await page.getByText("Between you and me.").count(), 0);
});

story("signing out in one tab shows the way in in all of them", { forgiven: /status of 401/ }, async ({ page, context }) => {
  await say(page, "Between you and me.");
  await ended(page, "complete");
  const other = await context.newPage();
  await other.goto(page.url());
  await replies(other).first().waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  // Well before the server would have ended the stream by itself.
  await other.getByLabel("Password").waitFor({ timeout: 5_000 });
  assert.equal(await other.getByText("Between you and me.").count(), 0);
});
