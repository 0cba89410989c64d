// Bundles every test/*.test.ts for Node and runs them with its own runner, so that tests import the page's sources as
// they are.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
// Beside node_modules, so that what is not bundled is found.
const out = await mkdtemp(join(here, "../node_modules/.hamlet-test-"));
let status = 1;
try {
  const tests = (await readdir(here)).filter((file) => file.endsWith(".test.ts"));
  await build({
    entryPoints: tests.map((file) => join(here, file)),
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: "inline",
    logLevel: "warning",
  });
  const run = spawnSync(
    process.execPath,
    ["--enable-source-maps", "--test", ...tests.map((file) => join(out, file.replace(/ts$/, "mjs")))],
    { stdio: "inherit", env: { ...process.env, HAMLET_FOLD_CASES: join(here, "../../tests/fold") } },
  );
  status = run.status ?? 1;
} finally {
  await rm(out, { recursive: true, force: true });
}
process.exitCode = status;
