// What a model is told, and the summary that stands for what it is not told word by word any more.

/** One request as a person reads it. Tokens are the server's estimates. */
export interface Prompt {
  npcId: string;
  model: string;
  sections: { place: string; text: string; tokens: number }[];
  tools: { name: string; description: string; parameters: unknown; tokens: number }[];
  messages: PromptMessage[];
  tokens: { sections: number; tools: number; messages: number; total: number };
  summaryVersion: number | null;
}

export interface PromptMessage {
  role: "user" | "assistant" | "tool";
  text: string;
  calls?: { id: string; name: string; arguments: string }[];
  toolCallId?: string;
  isError?: boolean;
  tokens: number;
}

export interface PromptSteps {
  messageId: string;
  /** Empty for a reply from before this was kept. */
  steps: (Prompt & { step: number })[];
}

export interface Summary {
  version: number;
  text: string;
  fromPosition: number;
  throughPosition: number;
  madeBy: "model" | "extract" | "player";
  createdAt: string;
}

export interface SummaryVersions {
  /** The one that counts; null while everything is said word by word. */
  summary: Summary | null;
  /** The newest first. */
  versions: (Summary & { inUse: boolean })[];
}
