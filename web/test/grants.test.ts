// What an NPC may call, as a list to choose from.

import assert from "node:assert/strict";
import { test } from "node:test";
import { choices, withGrant } from "../src/grants";
import type { Grant, OfferedTool } from "../src/wire/abilities";

const offer = (key: string, source: string): OfferedTool => ({ key, name: key, description: `does ${key}`, parameters: {}, source });
const grant = (tool: string, approval: Grant["approval"] = "never"): Grant => ({ tool, approval });

test("tools stand under what brings them, and what was granted stays to be seen when nobody offers it", () => {
  const offered = [offer("recall", "memory"), offer("calculate", "toolbox"), offer("forget", "memory")];
  assert.deepEqual(choices(offered, [grant("gone/tool"), grant("recall")]), [
    { name: "memory", tools: [{ key: "recall", description: "does recall" }, { key: "forget", description: "does forget" }] },
    { name: "toolbox", tools: [{ key: "calculate", description: "does calculate" }] },
    { name: null, tools: [{ key: "gone/tool", description: "" }] },
  ]);
  assert.deepEqual(choices([], []), []);
});

test("a grant is given, changed and taken, and no other one with it", () => {
  const grants = [grant("a"), grant("b", "always")];
  assert.deepEqual(withGrant(grants, "c", "never"), [...grants, grant("c")]);
  assert.deepEqual(withGrant(grants, "a", "always"), [grant("b", "always"), grant("a", "always")]);
  assert.deepEqual(withGrant(grants, "b", null), [grant("a")]);
  assert.deepEqual(withGrant(grants, "c", null), grants);
  assert.equal(grants.length, 2, "the list that was given is left as it is");
});
