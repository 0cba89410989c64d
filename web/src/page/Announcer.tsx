// Tells a screen reader that a reply is being written and, when it has ended, what it says. The growing text itself is no
// live region: it would be read from its beginning again with every word.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Entry } from "../fold";
import { awaiting } from "../parts";

/** So much is read out by itself; the rest is there to be read at will. */
const SPOKEN = 2_000;

export function Announcer({ entries, waiting }: { entries: readonly Entry[]; waiting: number }) {
  const [said, setSaid] = useState("");
  const watched = useRef<string | null>(null);
  const last = entries.findLast((entry) => entry.role === "npc");
  const status = last?.status;
  // Only while it runs: what a reply that has ended waited for is answered.
  const call = last && status === "running" ? awaiting(last.parts) : undefined;

  useEffect(() => {
    if (!last) return;
    if (status === "running") {
      watched.current = last.id;
      setSaid(`${last.author.name} is writing.`);
    } else if (watched.current === last.id) {
      watched.current = null;
      setSaid(`${last.author.name}: ${spoken(last)}`);
    }
  }, [last?.id, status]);

  return (
    <>
      <div class="offscreen" aria-live="polite" data-testid="announcer">
        {said}
      </div>
      <div class="offscreen" role="status" data-testid="asked">
        {call && `${last!.author.name} asks whether ${call.name} may be used. Approve or deny it in the reply.`}
      </div>
      <div class="offscreen" role="status">
        {waiting > 0 && `${counted(waiting)}.`}
      </div>
    </>
  );
}

export function counted(waiting: number): string {
  return waiting === 1 ? "One message waits" : `${waiting} messages wait`;
}

function spoken(entry: Entry): string {
  const text = entry.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const heard = text.length > SPOKEN ? `${text.slice(0, SPOKEN)} …` : text;
  return entry.error ? `${heard} ${entry.error.message}` : heard;
}
