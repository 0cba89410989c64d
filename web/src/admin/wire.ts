// What the operators' routes say, as TypeScript.

import type { Author, Hop, Page, Part, Role, Status } from "../wire";

export const STATES = ["running", "admitting", "committing", "recovering", "quarantined", "idle", "asleep"] as const;
export type ActorState = (typeof STATES)[number];

export interface Named {
  id: string;
  name: string;
}

export interface Actor {
  conversationId: string;
  state: ActorState;
  phase: string | null;
  turn: { id: string; messageId: string; since: string } | null;
  speaker: Named | null;
  step: number;
  hop: Hop;
  queue: number;
  mailbox: { depth: number; capacity: number } | null;
  watchers: { count: number; lags: number[] };
  cursor: number | null;
  epoch: number | null;
  history: { messages: number; tokens: number };
  summary: { from: number; to: number } | null;
  restarts: { recent: number; total: number };
  lastError: { code: string; message: string; at: string } | null;
  memoryBytes: number;
  lastActivity: string | null;
  player: Named | null;
}

export interface Counts {
  total: number;
  states: Record<ActorState, number>;
}

export interface ActorsEvent {
  page?: string[];
  items: Actor[];
  next: string | null;
  counts: Counts;
  now: string;
}

export interface OverseenMessage {
  id: string;
  turnId: string;
  role: Role;
  author: Author;
  position: number;
  status: Status;
  createdAt: string;
  characters: number;
  error: string | null;
  kinds: string[];
  /** Only when it was asked for. */
  parts?: Part[];
}

export interface Detail extends Actor {
  conversation: { createdAt: string; updatedAt: string; lastSeq: number; messages: number; title?: string | null };
  messages: OverseenMessage[];
  redacted: boolean;
  now: string;
}

export interface AuditEntry {
  id: number;
  at: string;
  player: Named;
  action: "abort" | "restart" | "retire" | "release" | "read-text";
  conversationId: string | null;
  outcome: string;
  details: unknown;
}
export type AuditPage = Page<AuditEntry>;
