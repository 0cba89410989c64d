// What NPCs can do and know: tools and grants, skills, memories, tool servers.

export interface OfferedTool {
  /** What a grant names it by. */
  key: string;
  name: string;
  description: string;
  parameters: unknown;
  /** The capability that brings it. */
  source: string;
}

export interface Grant {
  tool: string;
  approval: "never" | "always";
}

export interface SkillEntry {
  id: string;
  /** Null: for the whole Village. */
  npcId: string | null;
  name: string;
  description: string;
  allowedTools: string[];
  /** Where it comes from the data folder, its folder there: it is changed there, too. */
  folder: string | null;
}

export interface Skill extends SkillEntry {
  instructions: string;
  files: string[];
}

export interface SkillsPage {
  items: SkillEntry[];
  next: string | null;
  problems: { folder: string; message: string }[];
}

export interface Memory {
  id: string;
  npcId: string;
  text: string;
  writtenBy: "npc" | "player";
  createdAt: string;
  updatedAt: string;
}

/** What is absent is not told to this Player, or not by this server. */
export interface ToolServer {
  id: string;
  name: string;
  /** `file`: it comes from `mcp.json` in the data folder, and is changed there. */
  source?: "stored" | "file";
  enabled: boolean;
  status: string;
  error?: string | null;
  url?: string | null;
  command?: string | null;
  args?: string[];
  tools?: { key: string; name: string; description: string }[];
  leftOut?: { key: string; reason: string }[];
  stderr?: string[];
}

export interface ToolServers {
  items: ToolServer[];
  fileError?: string | null;
}
