// Builds the pages into one folder (HAMLET_WEB_OUT, else dist/): their HTML, the icon, and in assets/ their scripts and
// style sheets. Those carry a hash of their content in their names, so a server may let browsers keep them for ever, and
// a page of one build never meets the worker of another.
import { build } from "esbuild";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Each page's HTML, and the script that it loads. */
const PAGES = {
  "index.html": { name: "app", script: "src/main.tsx" },
  "admin.html": { name: "admin", script: "src/admin/main.tsx" },
};
const WORKER = "src/worker/main.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
// A relative name is meant from where npm was called, which is what INIT_CWD holds.
const out = process.env.HAMLET_WEB_OUT
  ? resolve(process.env.INIT_CWD ?? process.cwd(), process.env.HAMLET_WEB_OUT)
  : join(here, "dist");
const assets = join(out, "assets");

await mkdir(assets, { recursive: true });
// What an earlier build left, and nothing else that may lie there.
for (const file of await readdir(assets)) {
  if (/^[a-z]+-[A-Z0-9]+\.(js|css)$/.test(file)) await rm(join(assets, file));
}

/** Answers, for each script that was named, the addresses of what became of it. */
async function bundle(entryPoints, options) {
  const { metafile } = await build({
    entryPoints,
    absWorkingDir: here,
    outdir: assets,
    entryNames: "[name]-[hash]",
    bundle: true,
    minify: true,
    format: "esm",
    target: ["es2022"],
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
    ...options,
  });
  const address = (path) => path && `/assets/${path.split("/").at(-1)}`;
  return new Map(
    Object.entries(metafile.outputs)
      .filter(([, made]) => made.entryPoint)
      .map(([path, made]) => [made.entryPoint, { script: address(path), style: address(made.cssBundle) }]),
  );
}

// The worker first: pages carry its address. Not as a module, which fewer browsers take for a shared worker.
const worker = (await bundle({ worker: WORKER }, { format: "iife" })).get(WORKER).script;
const made = await bundle(Object.fromEntries(Object.values(PAGES).map(({ name, script }) => [name, script])), {
  jsx: "automatic",
  jsxImportSource: "preact",
  define: { HAMLET_WORKER: JSON.stringify(worker) },
});

for (const [html, { script }] of Object.entries(PAGES)) {
  const page = await readFile(join(here, "src", html), "utf8");
  const addresses = made.get(script);
  await writeFile(
    join(out, html),
    page.replace(/\{\{(script|style)\}\}/g, (_, kind) => {
      if (!addresses[kind]) throw new Error(`${html} wants a ${kind}, and the build made none`);
      return addresses[kind];
    }),
  );
}
await cp(join(here, "src/favicon.svg"), join(out, "favicon.svg"));
