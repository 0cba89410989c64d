// What NPCs can do and know, as the page reads and changes it.

import { all, call } from "../api";
import type { Page } from "../wire";
import type { Grant, Memory, OfferedTool, Skill, SkillEntry, SkillsPage, ToolServer, ToolServers } from "../wire/abilities";

const npc = (id: string): string => `/api/npcs/${encodeURIComponent(id)}`;
const skill = (id: string): string => `/api/skills/${encodeURIComponent(id)}`;
const memory = (id: string): string => `/api/memories/${encodeURIComponent(id)}`;
const server = (id: string): string => `/api/tool-servers/${encodeURIComponent(id)}`;

export type SkillText = { name: string; description: string; instructions: string };

export const abilities = {
  tools: () => call<Page<OfferedTool>>("GET", "/api/tools"),
  grants: (npcId: string) => call<Page<Grant>>("GET", `${npc(npcId)}/grants`),
  grant: (npcId: string, grants: Grant[]) => call<Page<Grant>>("PUT", `${npc(npcId)}/grants`, grants),

  /** All that there are, or what one NPC has in scope. */
  skills: (npcId: string | null) => all<SkillEntry>(`/api/skills${npcId ? `?npcId=${encodeURIComponent(npcId)}` : ""}`),
  problems: () => call<SkillsPage>("GET", "/api/skills?limit=1"),
  skill: (id: string) => call<Skill>("GET", skill(id)),
  makeSkill: (text: SkillText, npcId: string | null) =>
    call<Skill>("POST", "/api/skills", { ...text, ...(npcId ? { npcId } : {}) }),
  changeSkill: (id: string, text: SkillText) => call<Skill>("PATCH", skill(id), text),
  fileAddress: (id: string, path: string) => `${skill(id)}/files/${path.split("/").map(encodeURIComponent).join("/")}`,
  deleteSkill: (id: string) => call<unknown>("DELETE", skill(id)),
  uploadSkills: (archive: Blob, npcId: string | null) =>
    call<{ items: Skill[]; notImported: string[] }>(
      "POST",
      `/api/skills${npcId ? `?npcId=${encodeURIComponent(npcId)}` : ""}`,
      archive,
      { "content-type": "application/zip" },
    ),
  rescan: () => call<{ added: unknown; problems: SkillsPage["problems"] }>("POST", "/api/skills/rescan", {}),

  memories: (npcId: string, asked: { q?: string; after?: string | null }) => {
    const query = new URLSearchParams({ npcId, limit: "50" });
    if (asked.q) query.set("q", asked.q);
    else if (asked.after) query.set("after", asked.after);
    return call<Page<Memory>>("GET", `/api/memories?${query}`);
  },
  remember: (npcId: string, text: string) => call<Memory>("POST", "/api/memories", { npcId, text }),
  reword: (id: string, text: string) => call<Memory>("PATCH", memory(id), { text }),
  forget: (id: string) => call<unknown>("DELETE", memory(id)),
  forgetAll: (npcId: string) => call<{ deleted: number }>("DELETE", `/api/memories?npcId=${encodeURIComponent(npcId)}`),

  toolServers: () => call<ToolServers>("GET", "/api/tool-servers"),
  addToolServers: (described: unknown) => call<unknown>("POST", "/api/tool-servers", described),
  changeToolServer: (id: string, what: { enabled: boolean }) => call<ToolServer>("PATCH", server(id), what),
  removeToolServer: (id: string) => call<unknown>("DELETE", server(id)),
  reconnect: (id: string) => call<unknown>("POST", `${server(id)}/reconnect`, {}),
};
