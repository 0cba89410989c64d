// The server's HTTP API as the page calls it. Every refusal becomes an ApiError that carries the server's own code and
// words; nothing here knows what is drawn.

import type {
  Conversation,
  Me,
  Message,
  MessagesPage,
  Npc,
  OnBusy,
  Page,
  Provider,
  Settings,
} from "./wire";

/** What the server refused, or NETWORK when it was not reached at all. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | null = null,
  ) {
    super(message);
  }
}

const signedOut = new Set<() => void>();

/** Calls back whenever the server says that nobody is signed in (any more). */
export function onSignedOut(told: () => void): () => void {
  signedOut.add(told);
  return () => signedOut.delete(told);
}

/** For those who hear of it by another way than a call from here. */
export function tellSignedOut(): void {
  for (const told of signedOut) told();
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A body is sent as JSON, but a file as what it is. */
export async function call<T>(method: Method, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: {
        accept: "application/json",
        // The server reads JSON only, which is also what keeps forms of other sites out: so it is said without a body too.
        ...(method === "GET" ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: body instanceof Blob ? body : JSON.stringify(body) }),
    });
  } catch {
    throw new ApiError(0, "NETWORK", "Hamlet could not be reached. Is it still running?");
  }
  const text = await response.text().catch(() => "");
  if (response.ok) return (text === "" ? undefined : JSON.parse(text)) as T;
  const refusal = refusalOf(response, text);
  if (refusal.status === 401 && refusal.code !== "INVALID_CREDENTIALS") tellSignedOut();
  throw refusal;
}

function refusalOf(response: Response, text: string): ApiError {
  try {
    const { error } = JSON.parse(text);
    return new ApiError(response.status, String(error.code), String(error.message), error.requestId ?? null);
  } catch {
    // Something in between answered, such as a proxy.
    return new ApiError(response.status, `HTTP_${response.status}`, response.statusText || "unexpected answer");
  }
}

/** Every page of a list that is short enough to be shown whole. */
export async function all<T>(path: string): Promise<T[]> {
  const items: T[] = [];
  for (let after: string | null = null, left = PAGES; left > 0; left -= 1) {
    const query: string = `limit=200${after === null ? "" : `&after=${encodeURIComponent(after)}`}`;
    const page: Page<T> = await call("GET", `${path}${path.includes("?") ? "&" : "?"}${query}`);
    items.push(...page.items);
    after = page.next;
    if (after === null) break;
  }
  return items;
}

/** A list of thousands is not laid out whole. */
const PAGES = 10;

export interface Sent {
  turnId: string;
  messageId: string;
  cursor: number;
}

/** Whether a call that waits for it may run, and with which arguments, where they are not the model's. */
export interface Decision {
  toolCallId: string;
  decision: "approve" | "deny";
  input?: Record<string, unknown>;
}

export const message = (id: string): string => `/api/messages/${encodeURIComponent(id)}`;
export const conversation = (id: string): string => `/api/conversations/${encodeURIComponent(id)}`;

export const api = {
  me: () => call<Me>("GET", "/api/me"),
  signUp: {
    /** Whether anybody may make an account, and whether it would be the first one. */
    state: () => call<{ open: boolean; first?: boolean }>("GET", "/api/auth/sign-up"),
    make: (name: string, password: string) => call<unknown>("POST", "/api/auth/sign-up", { name, password }),
  },
  signIn: (name: string, password: string) => call<unknown>("POST", "/api/auth/sign-in", { name, password }),
  signOut: () => call<unknown>("POST", "/api/auth/sign-out", {}),

  npc: (id: string) => call<Npc>("GET", `/api/npcs/${encodeURIComponent(id)}`),
  npcs: () => all<Npc>("/api/npcs"),
  conversations: (after: string | null) =>
    call<Page<Conversation>>("GET", `/api/conversations?limit=50${after ? `&after=${encodeURIComponent(after)}` : ""}`),
  conversation: (id: string) => call<Conversation>("GET", conversation(id)),
  begin: (npcIds: string[]) => call<Conversation>("POST", "/api/conversations", { npcIds }),
  remove: (id: string) => call<unknown>("DELETE", conversation(id)),

  messages: (id: string, before: string | null) =>
    call<MessagesPage>(
      "GET",
      `${conversation(id)}/messages?limit=200${before ? `&before=${encodeURIComponent(before)}` : ""}`,
    ),
  send: (id: string, said: { text: string; clientId: string; onBusy: OnBusy }, key: string) =>
    call<Sent>("POST", `${conversation(id)}/messages`, said, { "idempotency-key": key }),
  resume: (id: string) => call<unknown>("POST", `${conversation(id)}/queue/resume`, {}),
  abort: (id: string, turnId: string) =>
    call<{ aborted: boolean }>("POST", `${conversation(id)}/abort`, { turnId }),
  /** Goes on behind what was said last; `hops` allows so many hand-overs more. */
  goOn: (id: string, hops: number | null) => call<Sent>("POST", `${conversation(id)}/continue`, hops === null ? {} : { hops }),
  decide: (id: string, decision: Decision) => call<unknown>("POST", `${conversation(id)}/approvals`, decision),
  regenerate: (id: string) => call<Sent>("POST", `${conversation(id)}/regenerate`, {}),
  edit: (messageId: string, text: string, key: string) =>
    call<unknown>("PATCH", message(messageId), { text }, { "idempotency-key": key }),
  withdraw: (messageId: string) => call<unknown>("DELETE", message(messageId)),
  variants: (messageId: string) => call<Page<Message>>("GET", `${message(messageId)}/variants`),
  select: (messageId: string) => call<unknown>("POST", `${message(messageId)}/select`, {}),
  framesUrl: (id: string, after: number) => `${conversation(id)}/frames?after=${after}`,

  providers: () => call<Page<Provider>>("GET", "/api/providers"),
  settings: () => call<Settings>("GET", "/api/settings"),
  addProvider: (provider: { name: string; baseUrl: string; apiKey?: string }) =>
    call<Provider>("POST", "/api/providers", { kind: "openai-chat", ...provider }),
  useProvider: (defaultProviderId: string, defaultModel: string) =>
    call<unknown>("PATCH", "/api/settings", { defaultProviderId, defaultModel }),
};

/** The server's words for a refusal, said to a person. */
export function wordsFor(error: unknown): { message: string; code: string | null } {
  if (!(error instanceof ApiError)) return { message: String(error), code: null };
  const said = FRIENDLY[error.code] ?? sentence(error.message);
  return { message: said, code: error.code };
}

const FRIENDLY: Record<string, string> = {
  TURN_IN_PROGRESS: "A reply is still being written. Wait for it, or stop it first.",
  TURN_MISMATCH: "That reply had ended already; another one is being written.",
  NOT_AWAITING: "That was decided already.",
  NOTHING_TO_CONTINUE: "The last reply came to its end: there is nothing to go on with.",
  NOTHING_TO_REGENERATE: "There is no reply here that could be written anew.",
  NOT_QUEUED: "That message does not wait any more.",
  RATE_LIMITED: "That was a lot at once. Wait a moment and try again.",
};

/** The server's words have no capital and no full stop, so that they fit into a log line. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  if (trimmed === "") return "Something went wrong.";
  const upper = trimmed[0]!.toUpperCase() + trimmed.slice(1);
  return /[.!?]$/.test(upper) ? upper : `${upper}.`;
}
