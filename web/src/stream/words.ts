// What a tab and the worker that reads for all tabs say to each other. Both ends are of one build, because the worker's
// address carries its hash: so nothing here needs a version.

import type { ErrorFrame, Frame, Part, StartFrame } from "../wire";

/** A Message that is being written, as a tab has it at its cursor. */
export interface Unfinished {
  start: StartFrame;
  parts: Part[];
  error: ErrorFrame | null;
}

export type ToWorker =
  /**
   * Hand me this Conversation's frames from the cursor on. The number names the watch in all that follows; `unfinished`
   * lets the worker give the running reply whole to a tab that stands in the middle of a piece.
   */
  | { say: "watch"; watch: number; conversation: string; cursor: number; unfinished: Unfinished[] }
  | { say: "leave"; watch: number }
  /** I have read what you said up to this number. */
  | { say: "heard"; upTo: number }
  /** Somebody looks at me: if you wait before connecting again, wait no longer. */
  | { say: "hurry" }
  /** Something is new, the network or who is signed in: open the stream again, from where it is. */
  | { say: "again" }
  /** I am being closed. */
  | { say: "bye" };

export type ToTab = { nth: number } & (
  | { say: "welcome" }
  /** All frames up to the cursor. */
  | { say: "frames"; watch: number; cursor: number; frames: Frame[] }
  /** Whether frames arrive now, or the connection is being made anew. */
  | { say: "connected"; yes: boolean }
  /** The Conversation was deleted. The watch is over. */
  | { say: "gone"; watch: number }
  /** The server knows less than you do: load the transcript anew. The watch is over. */
  | { say: "stale"; watch: number }
  /** There are too many Conversations in one stream already: read this one yourself. */
  | { say: "alone"; watch: number }
  /** Nobody is signed in any more. All watches are over. */
  | { say: "signedOut" }
  /** Are you there? */
  | { say: "ping" }
  /** You did not read for long, so your watches are over: watch again from where you are. */
  | { say: "letGo" }
);
