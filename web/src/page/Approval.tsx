// A call that waits for the Player's word. Every tab shows it; whoever says it first has said it.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Decision } from "../api";
import type { Trouble } from "../chat";
import { argumentsIn, readable } from "../parts";
import type { ToolCallPart } from "../wire";
import { TroubleLine } from "./TroubleLine";

/** Answers why it was not taken, if it was not. */
export type Decide = (decision: Decision) => Promise<Trouble | null>;

export function Approval({ call, author, decide }: { call: ToolCallPart; author: string; decide: Decide }) {
  /** The arguments while they are being changed. */
  const [typed, setTyped] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const help = useId();
  const box = useRef<HTMLDivElement>(null);
  const said = useRef(false);
  // Who has said it goes on at the call: the buttons are gone, and the focus with them.
  useEffect(() => {
    const around = box.current?.parentElement;
    return () => {
      if (said.current) around?.querySelector("summary")?.focus();
    };
  }, []);
  const input = typed === null ? undefined : argumentsIn(typed);

  const say = async (decision: Decision): Promise<void> => {
    setBusy(true);
    said.current = true;
    const refused = await decide(decision);
    said.current = refused === null;
    setTrouble(refused);
    setBusy(false);
  };
  const approve = (): Promise<void> =>
    say({ toolCallId: call.toolCallId, decision: "approve", ...(input ? { input } : {}) });

  return (
    <div ref={box} class="approval" role="group" aria-label={`May ${author} use ${call.name}?`} data-testid="approval">
      <p>
        May {author} use <code>{call.name}</code>?
      </p>
      {typed === null ? (
        <pre tabIndex={0}>{readable(call.input)}</pre>
      ) : (
        <>
          <textarea
            rows={Math.min(typed.split("\n").length + 1, 14)}
            value={typed}
            spellcheck={false}
            aria-label="Arguments as JSON"
            aria-invalid={input === null}
            aria-describedby={help}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
          <p id={help} class={input === null ? "limit over" : "limit"} role="status">
            {input === null && "That is no JSON object yet."}
          </p>
        </>
      )}
      <div class="row">
        <button type="button" class="primary" disabled={busy || input === null} onClick={() => void approve()}>
          Approve
        </button>
        <button type="button" disabled={busy} onClick={() => void say({ toolCallId: call.toolCallId, decision: "deny" })}>
          Deny
        </button>
        <button
          type="button"
          class="quiet"
          disabled={busy}
          onClick={() => setTyped(typed === null ? readable(call.input) : null)}
        >
          {typed === null ? "Change the arguments" : "Leave them as they were"}
        </button>
      </div>
      {trouble?.code === "NOT_AWAITING" ? (
        <p class="small" role="status">
          {trouble.message}
        </p>
      ) : (
        trouble && <TroubleLine trouble={trouble} />
      )}
    </div>
  );
}
