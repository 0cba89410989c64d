// What the server says and hears, as TypeScript. The server's own types are the contract; this file follows them.

export type Role = "player" | "npc";
export type Status =
  | "queued"
  | "running"
  | "complete"
  | "aborted"
  | "interrupted"
  | "failed"
  | "withdrawn"
  | "superseded";

export interface Author {
  kind: Role;
  id: string;
  name: string;
}

export interface Hop {
  count: number;
  limit: number;
}

export interface Usage {
  inputTokens: number | null;
  outputTokens: number | null;
  reasoningTokens: number | null;
  cachedInputTokens: number | null;
}

export interface MessageError {
  code: string;
  message: string;
  kind: string;
  provider?: string;
  status?: number;
  retryable: boolean;
}

export interface TextPart {
  type: "text";
  text: string;
}
export interface ReasoningPart {
  type: "reasoning";
  text: string;
  redacted?: boolean;
}
export interface ToolCallPart {
  type: "tool-call";
  toolCallId: string;
  name: string;
  /** An object once the arguments are whole; until then the raw text that arrived. */
  input: unknown;
  state: "streaming" | "ready" | "running" | "awaiting-client" | "awaiting-approval" | "done";
  executor: "server" | "client" | "subagent";
}
export interface ToolResultPart {
  type: "tool-result";
  toolCallId: string;
  name: string;
  output: unknown;
  isError: boolean;
  elapsedMs: number;
  truncated?: boolean;
}
export interface FilePart {
  type: "file";
  fileId: string;
  mediaType: string;
  filename: string;
}
export interface SourcePart {
  type: "source";
  url?: string;
  title?: string;
}
export interface NoticePart {
  type: "notice";
  code: string;
  text: string;
}
/** Of a type that this page does not know, or the empty object that keeps a place. */
export interface UnknownPart {
  type?: undefined;
  [field: string]: unknown;
}
export type KnownPart =
  | TextPart
  | ReasoningPart
  | ToolCallPart
  | ToolResultPart
  | FilePart
  | SourcePart
  | NoticePart;
export type Part = KnownPart | UnknownPart;

export interface StartFrame {
  type: "start";
  conversationId: string;
  turnId: string;
  message: {
    id: string;
    role: Role;
    author: Author;
    position: number;
    createdAt: string;
    status: Status;
    clientId?: string;
  };
  hop: Hop;
  supersedes?: string[];
}
export interface PartFrame {
  type: "part";
  messageId: string;
  index: number;
  part: Part;
}
export interface ErrorFrame extends MessageError {
  type: "error";
  turnId: string | null;
  /** Null: it is about the whole Conversation, and no transcript. */
  messageId: string | null;
}
/** Told without an id: after a reload it would not be there either. */
export function isAside(frame: ErrorFrame): boolean {
  return frame.messageId === null || frame.code === "STORE_UNAVAILABLE";
}
export interface FinishFrame {
  type: "finish";
  messageId: string;
  status: Status;
  finishReason: string | null;
  usage: Usage | null;
  turn: { id: string; state: "running" | "queued" | "ended" };
  conversation: { title: string | null; updatedAt: string };
}
export type Frame = StartFrame | PartFrame | ErrorFrame | FinishFrame;

export interface Message {
  id: string;
  conversationId: string;
  turnId: string;
  role: Role;
  author: Author;
  position: number;
  text: string;
  parts: Part[];
  status: Status;
  finishReason: string | null;
  usage: Usage | null;
  error: MessageError | null;
  hop: Hop;
  variantCount: number;
  supersedes?: string[];
  clientId?: string;
  createdAt: string;
}

export interface Page<T> {
  items: T[];
  next: string | null;
}
/** What becomes of a text that is sent while a reply is being written. */
export type OnBusy = "reject" | "enqueue" | "interrupt" | "steer";

export interface MessagesPage extends Page<Message> {
  cursor: number;
  turn: {
    /** Null while nothing runs and texts wait. */
    id: string | null;
  } | null;
}
/** Who answers a text that addresses nobody. */
export type SpeakerPolicy = "addressed" | "round-robin" | "everyone-once";
/** What an NPC that joined later is told of what was said before. */
export type NewcomersKnow = "from-joining" | "all";

/** What the list needs of a Conversation. */
export interface Listed {
  id: string;
  title: string | null;
  updatedAt: string;
}
export interface Conversation extends Listed {
  npcs: { id: string; slug: string; name: string }[];
  speakerPolicy: SpeakerPolicy;
  newcomersKnow: NewcomersKnow;
}
export interface Npc {
  id: string;
  slug: string;
  name: string;
  jobTitle: string;
  description: string;
  /** A sign such as an emoji, or the address of a picture. */
  avatar: string | null;
}
export interface Me {
  id: string;
  name: string;
  role: string;
}
export interface Provider {
  id: string;
  name: string;
  kind: string;
  baseUrl: string | null;
  hasKey: boolean;
}
export interface Setting<T> {
  value: T;
  source: string;
}
export interface Settings {
  defaultProviderId: Setting<string | null>;
  defaultModel: Setting<string | null>;
}
