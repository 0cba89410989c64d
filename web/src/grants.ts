// What an NPC may call, as a list to choose from: every Tool that is offered, under the capability that brings it, and
// what was granted once and is offered by nobody now. Plain values in, plain values out.

import type { Grant, OfferedTool } from "./wire/abilities";

export interface Choice {
  key: string;
  description: string;
}

export interface Source {
  /** Null: nobody offers these now. */
  name: string | null;
  tools: Choice[];
}

export function choices(offered: readonly OfferedTool[], grants: readonly Grant[]): Source[] {
  const sources: Source[] = [];
  for (const { key, description, source } of offered) {
    const known = sources.find((one) => one.name === source);
    if (known) known.tools.push({ key, description });
    else sources.push({ name: source, tools: [{ key, description }] });
  }
  const missing = grants.filter(({ tool }) => !offered.some(({ key }) => key === tool));
  if (missing.length > 0) {
    sources.push({ name: null, tools: missing.map(({ tool }) => ({ key: tool, description: "" })) });
  }
  return sources;
}

/** The list with this Tool granted, with or without a question first, or not at all. */
export function withGrant(grants: readonly Grant[], tool: string, approval: Grant["approval"] | null): Grant[] {
  const others = grants.filter((one) => one.tool !== tool);
  return approval === null ? others : [...others, { tool, approval }];
}
