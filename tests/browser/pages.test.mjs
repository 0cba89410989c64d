// The pages beside the chat: what NPCs may call, which skills they have, what they remember of the Player, and the tool
// servers, where the server has any.

import { fileURLToPath } from "node:url";
import { ask, assert, ended, say, story } from "./stage.mjs";

/** Goes to a page by the menu. */
async function go(page, name) {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

story("what an NPC may call is granted on its page, and asked for where the Player wants that", {}, async ({ page }) => {
  await go(page, "Inhabitants");
  await page.getByTestId("inhabitant").first().click();
  const grants = page.getByTestId("grants");
  await grants.getByRole("checkbox", { name: "calculate", exact: true }).waitFor();
  await grants.getByRole("checkbox", { name: "Ask me first: calculate" }).check();
  await grants.getByRole("checkbox", { name: "remember", exact: true }).uncheck();
  assert.equal(await grants.getByRole("checkbox", { name: "Ask me first: remember" }).isDisabled(), true);
  await grants.getByRole("button", { name: "Save" }).click();
  await grants.getByText("Saved.").waitFor();
  await page.reload();
  await grants.getByRole("checkbox", { name: "calculate", exact: true }).waitFor();
  assert.equal(await grants.getByRole("checkbox", { name: "Ask me first: calculate" }).isChecked(), true);
  assert.equal(await grants.getByRole("checkbox", { name: "remember", exact: true }).isChecked(), false);
  await page.goBack();
  await page.getByTestId("inhabitant").first().waitFor();

  await page.getByRole("link", { name: "New conversation" }).click();
  await say(page, 'use calculate {"expression":"6*7"}');
  await page.getByTestId("approval").getByRole("button", { name: "Approve" }).click();
  await ended(page, "complete");
});

story("a skill is written, opened, changed, uploaded and deleted", { agree: true, forgiven: /400/ }, async ({ page }) => {
  await go(page, "Skills");
  await page.getByText("There are no skills yet.").waitFor();
  await page.getByRole("button", { name: "Write a skill" }).click();
  const form = page.getByRole("form", { name: "A new skill" });
  await form.getByLabel("Name").fill("bake-bread");
  await form.getByLabel("What it does").fill("How bread is baked. Use it when somebody is hungry.");
  await form.getByLabel("Instructions").fill("Knead. Wait. <img src=x> Bake.");
  await form.getByLabel("For whom").selectOption({ index: 1 });
  await form.getByRole("button", { name: "Save" }).click();
  const skill = page.getByTestId("skill").filter({ hasText: "bake-bread" });
  await skill.locator("summary").click();
  await skill.getByText("Knead. Wait. <img src=x> Bake.").waitFor();
  assert.equal(await page.locator("img[src=x]").count(), 0, "it is text");
  await skill.getByRole("button", { name: "Edit" }).click();
  await skill.getByLabel("Instructions").fill("Buy it.");
  await skill.getByRole("button", { name: "Save" }).click();
  await skill.getByText("Buy it.").waitFor();

  const [owner] = (await ask(page, "GET", "/api/npcs")).items;
  await go(page, "Inhabitants");
  await page.getByTestId("inhabitant").first().click();
  await page.getByTestId("skill").filter({ hasText: `for ${owner.name}` }).waitFor();

  await go(page, "Skills");
  await page.getByText("Upload a zip archive").click();
  const upload = page.getByLabel("Archive with one or several SKILL.md");
  await upload.setInputFiles({ name: "broken.zip", mimeType: "application/zip", buffer: Buffer.from("no archive") });
  await page.getByRole("button", { name: "Upload" }).click();
  await page.getByTestId("trouble").waitFor();
  await upload.setInputFiles({ name: "good.zip", mimeType: "application/zip", buffer: stored("SKILL.md", SKILL) });
  await page.getByRole("button", { name: "Upload" }).click();
  await page.getByText("Taken: carve-wood").waitFor();
  await page.getByTestId("skill").filter({ hasText: "carve-wood" }).waitFor();

  await skill.locator("summary").click();
  await skill.getByRole("button", { name: "Delete" }).click();
  await skill.waitFor({ state: "detached" });
});

story("what they remember of a Player is added, found, reworded and forgotten", { agree: true }, async ({ page }) => {
  await go(page, "What they remember of you");
  const add = page.getByLabel("Something to remember");
  for (const text of ["Likes rye bread.", "Has a dog called Rufus."]) {
    await add.fill(text);
    await add.press("Enter");
    await page.getByTestId("memory").filter({ hasText: text }).waitFor();
    assert.equal(await add.inputValue(), "");
  }
  await page.getByLabel("Search memories").fill("dog");
  await page.getByLabel("Search memories").press("Enter");
  await page.getByTestId("memory").filter({ hasText: "rye" }).waitFor({ state: "detached" });
  const dog = page.getByTestId("memory").filter({ hasText: "Rufus" });
  await dog.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Memory", { exact: true }).fill("Has a dog called Rollo.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByTestId("memory").filter({ hasText: "Rollo" }).waitFor();
  await page.getByLabel("Search memories").fill("");
  await page.getByTestId("memory").nth(1).waitFor();
  await page.getByTestId("memory").filter({ hasText: "rye" }).getByRole("button", { name: "Delete" }).click();
  await page.getByTestId("memory").filter({ hasText: "rye" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Forget all" }).click();
  await page.getByText("One memory is forgotten.").waitFor();
  assert.equal(await page.getByTestId("memory").count(), 0);
});

story("a tool server is added, its tools are granted, and it is switched off and deleted", { agree: true, forgiven: /400/ }, async ({ page }) => {
  await go(page, "Tool servers");
  const add = page.getByRole("form", { name: "Add tool servers" });
  const field = add.locator("textarea");
  await field.fill('{"mcpServers": ');
  await add.getByText("That is no JSON object yet.").waitFor();
  await field.fill('{"mcpServers": {"clock": {"command": 1}}}');
  await add.getByRole("button", { name: "Add" }).click();
  await add.getByTestId("trouble").waitFor();
  const clock = { command: process.execPath, args: [fileURLToPath(new URL("clock.mjs", import.meta.url))] };
  await field.fill(JSON.stringify({ mcpServers: { clock, lost: { command: process.execPath, args: ["-e", "0"] } } }));
  await add.getByRole("button", { name: "Add" }).click();
  const server = (name) => page.getByRole("region", { name, exact: true });
  await server("clock").getByText("connected").waitFor();
  await server("lost").getByText("unreachable").waitFor();
  assert.equal(await field.inputValue(), "");
  await server("clock").getByText("One tool").click();
  await server("clock").getByText("Tells the <b>time</b>").waitFor();

  await go(page, "Inhabitants");
  await page.getByTestId("inhabitant").first().click();
  await page.getByTestId("grants").getByRole("checkbox", { name: "clock/strike", exact: true }).check();
  await page.getByTestId("grants").getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();

  await go(page, "Tool servers");
  await server("lost").getByRole("button", { name: "Connect again" }).click();
  await server("lost").getByRole("button", { name: "Delete" }).click();
  await server("lost").waitFor({ state: "detached" });
  await server("clock").getByRole("switch").click();
  await server("clock").getByText("disabled").waitFor();
  assert.equal(await server("clock").getByRole("button", { name: "Connect again" }).isDisabled(), true);
});

story("where the server has no tool servers, the menu has none", { forgiven: /404/ }, async ({ page }) => {
  const menu = page.getByRole("navigation", { name: "Pages" });
  await menu.getByRole("link", { name: "Tool servers" }).waitFor();
  await page.route("**/api/tool-servers", (route) => route.fulfill({ status: 404, json: {} }));
  const asked = page.waitForResponse("**/api/tool-servers");
  await page.reload();
  await asked;
  await menu.getByRole("link", { name: "Skills" }).waitFor();
  assert.equal(await menu.getByRole("link", { name: "Tool servers" }).count(), 0);
});

const SKILL = "---\nname: carve-wood\ndescription: How wood is carved.\n---\nWith a knife.\n";

/** A zip archive of one file, which is stored as it is. */
function stored(name, text) {
  const [path, data] = [Buffer.from(name), Buffer.from(text)];
  const about = Buffer.alloc(26);
  about.writeUInt16LE(20, 0);
  about.writeUInt16LE(0x21, 8);
  about.writeUInt32LE(crc32(data), 10);
  about.writeUInt32LE(data.length, 14);
  about.writeUInt32LE(data.length, 18);
  about.writeUInt16LE(path.length, 22);
  const local = Buffer.concat([Buffer.from("PK\x03\x04"), about, path, data]);
  const central = Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), about, Buffer.alloc(14), path]);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
