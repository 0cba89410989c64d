// A Provider of this test's own, with the chat completions wire format: it says what the story needs said, which the
// rehearsal Provider does not.

import { createServer } from "node:http";
import { once } from "node:events";

/** `answer(text)` gives the pieces of the reply to the last message; a piece that is an Error breaks the stream off. */
export async function openHouse(answer) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ object: "list", data: [{ id: "house-1", object: "model" }] }));
      return;
    }
    const { messages } = JSON.parse(body);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (data) => response.write(`data: ${JSON.stringify(data)}\n\n`);
    const chunk = (delta, finish = null) => ({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model: "house-1",
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
    send(chunk({ role: "assistant", content: "" }));
    for (const piece of answer(wordsOf(messages.at(-1)))) {
      if (piece instanceof Error) {
        send({ error: { message: piece.message, type: "server_error" } });
        response.end();
        return;
      }
      send(chunk({ content: piece }));
    }
    send(chunk({}, "stop"));
    send({ ...chunk({}), choices: [], usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 } });
    response.end("data: [DONE]\n\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${server.address().port}/v1`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Makes it the Village's default, through the form that the page offers an admin. */
export async function moveIn(page, house) {
  await page.getByTestId("rehearsal-notice").locator("summary").click();
  await page.getByLabel("Name", { exact: true }).fill("house");
  await page.getByLabel("Base URL").fill(house.baseUrl);
  await page.getByLabel("API key").fill("sk-house");
  await page.getByLabel("Model").fill("house-1");
  await page.getByRole("button", { name: "Add and use" }).click();
  await page.getByTestId("answerer").waitFor();
}

function wordsOf(message) {
  const { content } = message;
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
}
