// Builds the pages into one folder (HAMLET_WEB_OUT, else dist/): their HTML, a script and a style sheet each, the icon.
// Script and style sheet carry a hash of their content in their names, so a server may let browsers keep them for ever.
import { build } from "esbuild";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Each page's HTML, and the script that it loads. */
const PAGES = {
  "index.html": { name: "app", script: "src/main.tsx" },
  "admin.html": { name: "admin", script: "src/admin/main.tsx" },
};

const here = fileURLToPath(new URL(".", import.meta.url));
// A relative name is meant from where npm was called, which is what INIT_CWD holds.
const out = process.env.HAMLET_WEB_OUT
  ? resolve(process.env.INIT_CWD ?? process.cwd(), process.env.HAMLET_WEB_OUT)
  : join(here, "dist");

await mkdir(out, { recursive: true });
// What an earlier build left, and nothing else that may lie there.
for (const file of await readdir(out)) {
  if (/^(app|admin)-[A-Z0-9]+\.(js|css)$/.test(file)) await rm(join(out, file));
}

const result = await build({
  entryPoints: Object.fromEntries(Object.values(PAGES).map(({ name, script }) => [name, join(here, script)])),
  absWorkingDir: here,
  outdir: out,
  entryNames: "[name]-[hash]",
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});

const files = Object.keys(result.metafile.outputs).map((path) => basename(path));
const named = (name, suffix) => {
  const found = files.find((file) => file.startsWith(`${name}-`) && file.endsWith(suffix));
  if (!found) throw new Error(`the build made no ${suffix} of ${name}`);
  return `/${found}`;
};

for (const [html, { name }] of Object.entries(PAGES)) {
  const page = await readFile(join(here, "src", html), "utf8");
  await writeFile(
    join(out, html),
    page.replace("{{script}}", named(name, ".js")).replace("{{style}}", named(name, ".css")),
  );
}
await cp(join(here, "src/favicon.svg"), join(out, "favicon.svg"));
