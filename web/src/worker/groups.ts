// What the events of `GET /api/frames?watch=` mean. Pure. An event's id is `ID:CURSOR`, and a frame that does not move its
// Conversation's cursor repeats it: so it is inside a replayed Message, of which only the last frame moves it. Those are
// gathered until it does. What a cut connection leaves behind here is dropped with it: the server sends such a Message
// again from its start.

import { type ErrorFrame, type Frame, isAside } from "../wire";
import type { Group } from "./relay";

export interface StreamEvent {
  id?: string | undefined;
  event?: string | undefined;
  data: string;
}

export type Told =
  | { kind: "group"; conversation: string; group: Group }
  /** Said to whoever listens now; no transcript. */
  | { kind: "aside"; conversation: string; frame: ErrorFrame }
  /** It was deleted, or never was this Player's. */
  | { kind: "gone"; conversation: string }
  /** The server knows less than was read already: it was put back to an older backup. */
  | { kind: "stale"; conversation: string };

export class Groups {
  readonly #cursors: Map<string, number>;
  readonly #gathered = new Map<string, Frame[]>();

  /** With the cursors that the stream was opened with. */
  constructor(cursors: ReadonlyMap<string, number>) {
    this.#cursors = new Map(cursors);
  }

  /** What is known with this event; null while a Message is being gathered. */
  take({ id = "", event, data }: StreamEvent): Told | null {
    if (event === "gone") return { kind: "gone", conversation: JSON.parse(data).conversationId };
    const [conversation, cursor] = place(id);
    const before = this.#cursors.get(conversation);
    if (before === undefined || cursor < before) return { kind: "stale", conversation };

    const frame: Frame = JSON.parse(data);
    if (frame.type === "error" && isAside(frame)) return { kind: "aside", conversation, frame };
    const frames = this.#gathered.get(conversation) ?? [];
    frames.push(frame);
    if (cursor === before) {
      this.#gathered.set(conversation, frames);
      return null;
    }
    this.#gathered.delete(conversation);
    this.#cursors.set(conversation, cursor);
    return { kind: "group", conversation, group: { cursor, frames } };
  }
}

function place(id: string): [string, number] {
  const colon = id.lastIndexOf(":");
  return [id.slice(0, colon), Number(id.slice(colon + 1))];
}
