// The operators' routes as the page calls them.

import { call } from "../api";
import type { AuditPage, Detail } from "./wire";

/** Which actors are looked at. */
export interface Wanted {
  states: readonly string[];
  player: string;
  after: string | null;
}

export const PAGE = 50;

export function eventsUrl(wanted: Wanted): string {
  const query = new URLSearchParams({ limit: String(PAGE) });
  if (wanted.states.length > 0) query.set("state", wanted.states.join(","));
  if (wanted.player !== "") query.set("player", wanted.player);
  if (wanted.after !== null) query.set("after", wanted.after);
  return `/admin/events?${query}`;
}

const actor = (id: string): string => `/admin/actors/${encodeURIComponent(id)}`;

export const admin = {
  detail: (id: string) => call<Detail>("GET", actor(id)),
  /** Written to the audit log by the server. */
  detailWithText: (id: string) => call<Detail>("GET", `${actor(id)}?text=1`),
  abort: (id: string, turnId: string) => call<{ aborted: boolean }>("POST", `${actor(id)}/abort`, { turnId }),
  restart: (id: string) => call<unknown>("POST", `${actor(id)}/restart`, {}),
  retire: (id: string) => call<unknown>("POST", `${actor(id)}/retire`, {}),
  release: (id: string) => call<unknown>("POST", `${actor(id)}/release`, {}),
  audit: (after: string | null) =>
    call<AuditPage>("GET", `/admin/audit?limit=50${after ? `&after=${encodeURIComponent(after)}` : ""}`),
};
