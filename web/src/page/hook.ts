// A hook for debugging and for the browser tests: `__hamlet.transcript()` in the console answers the folded transcript of
// the open Conversation, as plain data. The page itself never reads it.

import type { Chat } from "../chat";
import type { Entry } from "../fold";

declare global {
  interface Window {
    __hamlet?: { transcript(): Entry[] };
  }
}

/** Shows this Conversation's transcript under `window.__hamlet`; the answer takes it away again. */
export function exposeTranscript(chat: Chat): () => void {
  const shown = { transcript: () => structuredClone([...chat.transcript.entries]) };
  window.__hamlet = shown;
  return () => {
    if (window.__hamlet === shown) delete window.__hamlet;
  };
}
