// The pages beside the chat: what NPCs may call, which skills they have, what they remember of the Player, and the tool
// servers, where the server has any.

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

story("tool servers are shown, switched off and added, as the server tells of them", { agree: true, forgiven: /404/ }, async ({ page }) => {
  // Played: programs that a story would have to start are the server's own tests.
  const servers = [
    { id: "s1", name: "files", enabled: true, status: "connected", error: null, tools: [{ key: "files/read", name: "read", description: "<b>Reads</b>" }] },
    { id: "s2", name: "lost", enabled: true, status: "unreachable", error: "it closed the connection", tools: [] },
  ];
  const asked = [];
  await page.route("**/api/tool-servers**", async (route) => {
    const request = route.request();
    const id = new URL(request.url()).pathname.split("/")[3];
    if (request.method() !== "GET") asked.push([request.method(), id, request.postDataJSON()]);
    if (request.method() === "PATCH") Object.assign(servers.find((one) => one.id === id), request.postDataJSON(), { status: "disabled" });
    if (request.method() === "DELETE") servers.splice(servers.findIndex((one) => one.id === id), 1);
    await route.fulfill({ status: request.method() === "DELETE" ? 204 : 200, ...(request.method() === "DELETE" ? {} : { json: { items: servers, next: null, fileError: null } }) });
  });
  await page.reload();
  await go(page, "Tool servers");
  const server = (name) => page.getByTestId("tool-server").filter({ hasText: name });
  await server("lost").getByText("it closed the connection").waitFor();
  await server("files").getByText("One tool").click();
  await server("files").getByText("<b>Reads</b>").waitFor();
  await server("files").getByRole("switch").uncheck();
  await server("files").getByText("disabled").waitFor();
  await server("lost").getByRole("button", { name: "Connect again" }).click();
  await server("lost").getByRole("button", { name: "Delete" }).click();
  await server("lost").waitFor({ state: "detached" });
  const add = page.getByRole("form", { name: "Add tool servers" });
  await add.locator("textarea").fill('{"mcpServers": ');
  await add.getByText("That is no JSON object yet.").waitFor();
  await add.locator("textarea").fill('{"mcpServers": {"clock": {"command": "clock"}}}');
  await add.getByRole("button", { name: "Add" }).click();
  await page.waitForFunction(() => document.querySelector("form textarea").value === "");
  assert.deepEqual(asked, [
    ["PATCH", "s1", { enabled: false }],
    ["POST", "s2", {}],
    ["DELETE", "s2", null],
    ["POST", undefined, { mcpServers: { clock: { command: "clock" } } }],
  ]);
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
