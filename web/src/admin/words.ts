// Numbers and states in words for people.

import type { Actor, AuditEntry } from "./wire";

/** A length of time: exact where it is short. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d`;
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  const units = ["KiB", "MiB", "GiB"];
  let value = count / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? "" : "s"}`;

/** Ids sort by time: their ends are what tells neighbours apart. */
export const short = (id: string): string => `…${id.slice(-12)}`;

export const moment = (at: string): string => new Date(at).toLocaleString();

export function phaseOf(actor: Actor): string {
  if (!actor.turn) return "";
  return actor.step > 1 ? `${actor.phase ?? ""}, step ${actor.step}` : (actor.phase ?? "");
}

export function watchersOf({ watchers }: Actor): string {
  const worst = watchers.lags[0] ?? 0;
  return worst > 0 ? `${watchers.count}, ${worst} behind` : String(watchers.count);
}

const ACTIONS: Record<AuditEntry["action"], string> = {
  abort: "stopped a turn",
  restart: "restarted the actor",
  retire: "let the actor sleep",
  release: "released from quarantine",
  "read-text": "read what was said",
};

export const deed = (entry: AuditEntry): string => ACTIONS[entry.action] ?? entry.action;
