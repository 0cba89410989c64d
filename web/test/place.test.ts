// What an address names.

import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, addressOfPage, placeIn } from "../src/place";

const at = (address: string) => {
  const { pathname, hash } = new URL(address, "http://hamlet");
  return placeIn({ pathname, hash });
};

test("an address that the page makes is read as what it was made of", () => {
  for (const id of ["0198", "a b/c", "ü%"]) {
    assert.deepEqual(at(addressOf(id)), { at: "conversation", id });
    assert.deepEqual(at(addressOfPage("npcs", id)), { at: "page", name: "npcs", id });
  }
  assert.deepEqual(at(addressOf(null)), { at: "home" });
  assert.deepEqual(at(addressOfPage("tool-servers")), { at: "page", name: "tool-servers", id: null });
});

test("what names nothing that is here is the first screen, and a broken escape is no failure", () => {
  for (const address of ["/", "/#", "/#nobody", "/#skills/a/b", "/#Skills", "/admin", "/c/"]) assert.deepEqual(at(address), { at: "home" }, address);
  assert.deepEqual(placeIn({ pathname: "/c/%", hash: "" }), { at: "conversation", id: "%" });
});
