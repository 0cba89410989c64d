// Builds the page into one folder (HAMLET_WEB_OUT, else dist/): index.html, one script, one style sheet, the icon.
// Script and style sheet carry a hash of their content in their names, so a server may let browsers keep them for ever.
import { build } from "esbuild";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
// A relative name is meant from where npm was called, which is what INIT_CWD holds.
const out = process.env.HAMLET_WEB_OUT
  ? resolve(process.env.INIT_CWD ?? process.cwd(), process.env.HAMLET_WEB_OUT)
  : join(here, "dist");

await mkdir(out, { recursive: true });
// What an earlier build left, and nothing else that may lie there.
for (const file of await readdir(out)) {
  if (/^app-[A-Z0-9]+\.(js|css)$/.test(file)) await rm(join(out, file));
}

const result = await build({
  entryPoints: { app: join(here, "src/main.tsx") },
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
const named = (suffix) => {
  const found = files.find((file) => file.endsWith(suffix));
  if (!found) throw new Error(`the build made no ${suffix}`);
  return found;
};

const page = await readFile(join(here, "src/index.html"), "utf8");
await writeFile(
  join(out, "index.html"),
  page.replace("{{script}}", `/${named(".js")}`).replace("{{style}}", `/${named(".css")}`),
);
await cp(join(here, "src/favicon.svg"), join(out, "favicon.svg"));
