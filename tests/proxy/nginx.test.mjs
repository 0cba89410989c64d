// Hamlet behind nginx: a public URL over https at the proxy's outside, plain HTTP inside, and tokens that arrive one by one.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

const HOST = "village.example";
let folder, hamlet, nginx, proxyPort, link;
let cookie = "";

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

// A request as the proxy's outside sees it: any Host, any header.
const ask = (method, path, { headers = {}, body, onData } = {}) =>
  new Promise((resolve, reject) => {
    const sent = request(
      { host: "127.0.0.1", port: proxyPort, method, path, headers: { host: HOST, cookie, ...headers } },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (piece) => {
          text += piece;
          onData?.(piece);
        });
        answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
      },
    );
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });

const post = (path, body, headers = {}) =>
  ask("POST", path, { body, headers: { "content-type": "application/json", accept: "application/json", ...headers } });

/** A WebSocket through the proxy: what comes, and a way to send. A refused handshake is its status. */
const socket = (path, headers) =>
  new Promise((resolve, reject) => {
    const key = randomBytes(16).toString("base64");
    const upgrade = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": key };
    const sent = request({ host: "127.0.0.1", port: proxyPort, path, headers: { host: HOST, cookie, ...upgrade, ...headers } });
    sent.on("error", reject);
    sent.on("response", (answer) => resolve({ status: answer.statusCode, close: () => answer.destroy() }));
    sent.on("upgrade", (answer, line, head) => {
      const messages = [];
      let bytes = head;
      const take = () => {
        for (;;) {
          if (bytes.length < 2) return;
          const short = bytes[1] & 127;
          const start = short === 126 ? 4 : 2;
          assert.notEqual(short, 127, "no message here is that long");
          if (bytes.length < start) return;
          const size = short === 126 ? bytes.readUInt16BE(2) : short;
          if (bytes.length < start + size) return;
          if ((bytes[0] & 15) === 1) messages.push(JSON.parse(bytes.subarray(start, start + size).toString()));
          bytes = bytes.subarray(start + size);
        }
      };
      take();
      line.on("data", (piece) => {
        bytes = Buffer.concat([bytes, piece]);
        take();
      });
      resolve({
        status: answer.statusCode,
        messages,
        send: (message) => {
          const text = Buffer.from(JSON.stringify(message));
          const [mask, length] = [randomBytes(4), Buffer.alloc(2)];
          length.writeUInt16BE(text.length);
          line.write(Buffer.concat([Buffer.from([0x81, 0x80 | 126]), length, mask, text.map((byte, at) => byte ^ mask[at % 4])]));
        },
        close: () => line.destroy(),
      });
    });
    sent.end();
  });

async function until(holds, what) {
  for (let tries = 0; tries < 1000; tries += 1) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(what);
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "hamlet-proxy-"));
  proxyPort = await freePort();
  const inside = await freePort();
  hamlet = spawn(
    process.env.HAMLET_BIN,
    ["--data", join(folder, "data"), "--listen", `127.0.0.1:${inside}`, "--public-url", `https://${HOST}`],
    { env: { ...process.env, HAMLET_TRUSTED_PROXIES: "127.0.0.1/32", LLM_PROVIDER: "Rehearsal" } },
  );
  link = await new Promise((resolve, reject) => {
    let said = "";
    hamlet.stdout.setEncoding("utf8");
    hamlet.stdout.on("data", (piece) => {
      said += piece;
      const found = said.match(/https:\/\/village\.example(\/sign-in\?token=\S+)/);
      if (found) resolve(found[1]);
    });
    hamlet.on("exit", (code) => reject(new Error(`hamlet ended with ${code}`)));
  });
  await writeFile(
    join(folder, "nginx.conf"),
    `worker_processes 1; daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
     events { worker_connections 64; }
     http {
       access_log off;
       client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fcgi;
       uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
       server {
         listen 127.0.0.1:${proxyPort};
         location / {
           proxy_pass http://127.0.0.1:${inside};
           proxy_http_version 1.1;
           proxy_set_header Host $host;
           proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
           proxy_set_header X-Forwarded-Proto https;
           proxy_set_header Connection "";
         }
         location ~ ^/api/conversations/[^/]+/ws$ {
           proxy_pass http://127.0.0.1:${inside};
           proxy_http_version 1.1;
           proxy_set_header Host $host;
           proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
           proxy_set_header X-Forwarded-Proto https;
           proxy_set_header Upgrade $http_upgrade;
           proxy_set_header Connection "upgrade";
         }
       }
     }`,
  );
  nginx = spawn("nginx", ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", join(folder, "error.log")]);
  for (let tries = 0; ; tries += 1) {
    const up = await ask("GET", "/healthz").catch(() => undefined);
    if (up?.status === 200) return;
    assert.ok(tries < 100, "nginx did not come up");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});

after(async () => {
  nginx?.kill();
  hamlet?.kill();
  await rm(folder, { recursive: true, force: true });
});

test("the link signs in with a cookie that only https carries", async () => {
  const entered = await ask("GET", link);
  assert.equal(entered.status, 303);
  const [set] = entered.headers["set-cookie"];
  assert.match(set, /^__Host-hamlet_session=[^;]+;.*HttpOnly/i);
  assert.match(set, /;\s*Secure/i);
  assert.match(set, /;\s*SameSite=Lax/i);
  cookie = set.split(";")[0];
  assert.equal((await ask("GET", "/api/me")).status, 200);
});

test("tokens pass the proxy as they come, not at the end", async () => {
  const npcs = JSON.parse((await ask("GET", "/api/npcs")).text);
  const made = JSON.parse((await post("/api/conversations", { npcIds: [npcs.items[0].id] })).text);
  const arrivals = [];
  const streamed = await ask("POST", `/api/conversations/${made.id}/messages`, {
    body: { text: "Good morning" },
    headers: { "content-type": "application/json", accept: "text/event-stream", origin: `https://${HOST}` },
    onData: () => arrivals.push(Date.now()),
  });
  assert.equal(streamed.status, 200);
  assert.equal(streamed.headers["content-type"], "text/event-stream");
  assert.ok(streamed.text.includes('"state":"ended"'));
  assert.ok(arrivals.length > 10, `${arrivals.length} pieces`);
  assert.ok(arrivals.at(-1) - arrivals[0] > 200, "the pieces came spread over the reply's time");
});

test("a WebSocket passes the proxy both ways, from the page's own origin alone", async () => {
  const npcs = JSON.parse((await ask("GET", "/api/npcs")).text);
  const made = JSON.parse((await post("/api/conversations", { npcIds: [npcs.items[0].id] })).text);
  const path = `/api/conversations/${made.id}/ws`;
  const foreign = await socket(path, { origin: "https://elsewhere.example" });
  assert.equal(foreign.status, 403);
  foreign.close();
  const { status, messages, send, close } = await socket(path, { origin: `https://${HOST}` });
  assert.equal(status, 101);
  await until(() => messages.length > 0, "no opening");
  assert.deepEqual(messages[0], { cursor: 0 });
  send({ op: "turn", requestId: "1", text: "Good morning" });
  await until(() => messages.some(({ frame }) => frame?.turn?.state === "ended"), "the turn did not end");
  assert.equal(messages.find(({ requestId }) => requestId === "1").status, 202);
  assert.ok(messages.filter(({ frame }) => frame?.type === "part").length > 10, "the pieces came one by one");
  close();
});

test("a page of another origin is refused, and so is another host's name", async () => {
  const foreign = await post("/api/conversations", { npcIds: [] }, { origin: "https://elsewhere.example" });
  assert.deepEqual([foreign.status, JSON.parse(foreign.text).error.code], [403, "ORIGIN_NOT_ALLOWED"]);
  const own = await post("/api/conversations", { npcIds: [] }, { origin: `https://${HOST}` });
  assert.equal(own.status, 201);
  const rebound = await ask("GET", "/api/me", { headers: { host: "rebound.example" } });
  assert.deepEqual([rebound.status, JSON.parse(rebound.text).error.code], [403, "HOST_NOT_ALLOWED"]);
});

test("sign-ins are counted by the client's address, which the trusted proxy names", async () => {
  const attempt = (address) =>
    post("/api/auth/sign-in", { name: "nobody", password: "wrong password" }, { "x-forwarded-for": address });
  const statuses = [];
  for (let n = 0; n < 40; n += 1) statuses.push((await attempt("203.0.113.7")).status);
  assert.ok(statuses.includes(401) && statuses.includes(429), statuses.join(" "));
});
