// How Parts are read for drawing: a call and its result belong together, wherever they stand in their Message. Plain
// values in, plain values out.

import type { KnownPart, Part, ToolCallPart, ToolResultPart } from "./wire";

/** What is drawn in one place. The index is that of the Part, and stays while others arrive. */
export type Drawn =
  | { kind: "part"; index: number; part: Part }
  | { kind: "call"; index: number; call: ToolCallPart; result: ToolResultPart | null };

/** Notices that change something else on the page, and are no words of the reply. */
const SILENT = new Set(["TITLE_CHANGED"]);

export function drawnParts(parts: readonly Part[]): Drawn[] {
  const results = new Map<string, ToolResultPart>();
  const calls = new Set<string>();
  for (const part of parts as readonly KnownPart[]) {
    if (part.type === "tool-result") results.set(part.toolCallId, part);
    if (part.type === "tool-call") calls.add(part.toolCallId);
  }
  const drawn: Drawn[] = [];
  parts.forEach((part, index) => {
    const known = part as KnownPart;
    if (known.type === "notice" && SILENT.has(known.code)) return;
    if (known.type === "tool-result" && calls.has(known.toolCallId)) return;
    if (known.type === "tool-call") {
      drawn.push({ kind: "call", index, call: known, result: results.get(known.toolCallId) ?? null });
    } else {
      drawn.push({ kind: "part", index, part });
    }
  });
  return drawn;
}

/** To whom a result says that the turn was passed. */
export interface HandOver {
  npc: string;
  message: string;
  /** Why it was not let, if it was not. */
  refused: string | null;
}

export function handOverOf(output: unknown): HandOver | null {
  if (!isObject(output) || !isObject(output["handOver"])) return null;
  const { npc, message } = output["handOver"];
  if (typeof npc !== "string" || typeof message !== "string") return null;
  const { refused } = output;
  return { npc, message, refused: typeof refused === "string" ? refused : null };
}

/** The call that waits for the Player's word, if one does. */
export function awaiting(parts: readonly Part[]): ToolCallPart | undefined {
  return (parts as readonly KnownPart[]).find(
    (part): part is ToolCallPart => part.type === "tool-call" && part.state === "awaiting-approval",
  );
}

/** A value as a person reads it: text as it is, all else as JSON. */
export function readable(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** So many times what is shown is looked at: blanks count once. */
const LEEWAY = 8;

/** The same on one line, cut where it becomes long. */
export function brief(value: unknown, length = 60): string {
  if (isObject(value) && Object.keys(value).length === 0) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  // Arguments that are still being written can be long, and are read again with every piece.
  const line = text.slice(0, length * LEEWAY).replace(/\s+/g, " ").trim();
  const characters = [...line.slice(0, length * 2 + 2)];
  return characters.length > length ? `${characters.slice(0, length).join("")}…` : line;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Arguments that were typed as JSON; null where they are no JSON object. */
export function argumentsIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
