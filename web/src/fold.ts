// The one fold, as the browser has it: frames become a transcript. `tests/fold/*.json` specifies it, and the engine's
// `actors/src/vocabulary/transcript.rs` runs the same files. It knows nothing of the network or the page.

import type { Unfinished } from "./stream/words";
import type { Author, Frame, Hop, Message, MessageError, Part, Role, StartFrame, Status, Usage } from "./wire";

/** A Message as a reader has it so far. */
export interface Entry {
  id: string;
  turnId: string;
  role: Role;
  author: Author;
  position: number;
  status: Status;
  parts: Part[];
  finishReason: string | null;
  usage: Usage | null;
  error: MessageError | null;
  hop: Hop;
  /** Absent when there is nothing (left) to supersede. */
  supersedes?: string[];
  clientId?: string;
  createdAt: string;
}

/**
 * All Messages that a reader sees, sorted by position. Entries are changed in place, so that a delta costs the same
 * however long the reply is; `revision` tells a reader whether an entry is still the one it drew.
 */
export class Transcript {
  #entries: Entry[] = [];
  #byId = new Map<string, Entry>();
  #revisions = new WeakMap<Entry, number>();
  #title: string | null = null;

  /** Begins with what `GET .../messages` answered; frames from its cursor on are folded on top. */
  static of(messages: Iterable<Message>): Transcript {
    const transcript = new Transcript();
    for (const message of messages) transcript.#put(entryOf(message));
    return transcript;
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** The Conversation's title as the last finish frame told it. */
  get title(): string | null {
    return this.#title;
  }

  revision(entry: Entry): number {
    return this.#revisions.get(entry) ?? 0;
  }

  /** Older Messages that were loaded later. What is known already is newer and stays. */
  addOlder(messages: Iterable<Message>): void {
    for (const message of messages) {
      if (!this.#byId.has(message.id)) this.#put(entryOf(message));
    }
  }

  /** The Messages that are being written, as frames would tell them. */
  unfinished(conversationId: string): Unfinished[] {
    return this.#entries
      .filter((entry) => entry.status === "running")
      .map((entry) => ({
        start: startOf(entry, conversationId),
        parts: entry.parts,
        error: entry.error && { type: "error", turnId: entry.turnId, messageId: entry.id, ...entry.error },
      }));
  }

  fold(frame: Frame): void {
    switch (frame.type) {
      case "start":
        this.#put(begun(frame));
        return;
      case "part":
        this.#part(frame.messageId, frame.index, frame.part);
        return;
      case "error": {
        const entry = frame.messageId === null ? undefined : this.#byId.get(frame.messageId);
        if (!entry) return;
        const { type: _type, turnId: _turn, messageId: _message, ...error } = frame;
        entry.error = error;
        this.#touch(entry);
        return;
      }
      case "finish":
        this.#title = frame.conversation.title;
        if (frame.status === "superseded" || frame.status === "withdrawn") {
          this.#drop([frame.messageId]);
          return;
        }
        {
          const entry = this.#byId.get(frame.messageId);
          if (!entry) return;
          entry.status = frame.status;
          entry.finishReason = frame.finishReason;
          entry.usage = frame.usage;
          // One that ends without Parts leaves itself, not what it was to supersede.
          delete entry.supersedes;
          this.#touch(entry);
        }
    }
  }

  #part(id: string, index: number, part: Part): void {
    const entry = this.#byId.get(id);
    if (!entry) return;
    foldPart(entry.parts, index, part);
    const gone = entry.supersedes;
    delete entry.supersedes;
    this.#touch(entry);
    if (gone) this.#drop(gone);
  }

  /** Puts the entry in its place, instead of what was known under its id. */
  #put(entry: Entry): void {
    if (this.#byId.has(entry.id)) this.#drop([entry.id]);
    let at = this.#entries.length;
    // From the end: nearly every Message that arrives is the newest.
    while (at > 0 && isAfter(this.#entries[at - 1]!, entry)) at -= 1;
    this.#entries.splice(at, 0, entry);
    this.#byId.set(entry.id, entry);
  }

  #drop(ids: string[]): void {
    const gone = ids.filter((id) => this.#byId.delete(id));
    if (gone.length > 0) this.#entries = this.#entries.filter((entry) => !gone.includes(entry.id));
  }

  #touch(entry: Entry): void {
    this.#revisions.set(entry, this.revision(entry) + 1);
  }
}

/**
 * Text and reasoning append to what is at the index; every other Part replaces it. A place beyond the end is filled up
 * with empty unknown Parts, so that no index moves.
 */
export function foldPart(parts: Part[], index: number, part: Part): void {
  while (parts.length < index) parts.push({});
  const place = parts[index];
  if (place?.type === "text" && part.type === "text") {
    place.text += part.text;
  } else if (place?.type === "reasoning" && part.type === "reasoning") {
    place.text += part.text;
    if (part.redacted) place.redacted = true;
  } else {
    // A copy: the entry goes on changing its Parts, and the frame stays as it came.
    parts[index] = { ...part };
  }
}

function begun(frame: StartFrame): Entry {
  const { message } = frame;
  return {
    id: message.id,
    turnId: frame.turnId,
    role: message.role,
    author: message.author,
    position: message.position,
    status: message.status,
    parts: [],
    finishReason: null,
    usage: null,
    error: null,
    hop: frame.hop,
    ...optional(frame.supersedes, message.clientId),
    createdAt: message.createdAt,
  };
}

/** The start frame that would begin this entry as it stands. */
function startOf(entry: Entry, conversationId: string): StartFrame {
  const { id, turnId, role, author, position, createdAt, status, hop, supersedes = [], clientId } = entry;
  return {
    type: "start",
    conversationId,
    turnId,
    message: { id, role, author, position, createdAt, status, ...(clientId !== undefined ? { clientId } : {}) },
    hop,
    supersedes,
  };
}

function entryOf(message: Message): Entry {
  return {
    id: message.id,
    turnId: message.turnId,
    role: message.role,
    author: message.author,
    position: message.position,
    status: message.status,
    parts: message.parts.map((part) => ({ ...part })),
    finishReason: message.finishReason,
    usage: message.usage,
    error: message.error,
    hop: message.hop,
    ...optional(message.supersedes, message.clientId),
    createdAt: message.createdAt,
  };
}

function optional(supersedes?: string[], clientId?: string): { supersedes?: string[]; clientId?: string } {
  return {
    ...(supersedes?.length ? { supersedes } : {}),
    ...(clientId !== undefined ? { clientId } : {}),
  };
}

/** Ids are UUIDs in lower case, whose order as text is their order as numbers. */
function isAfter(known: Entry, entry: Entry): boolean {
  return known.position > entry.position || (known.position === entry.position && known.id > entry.id);
}
