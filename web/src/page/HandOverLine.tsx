import type { HandOver } from "../parts";

/** Longer words are folded away: the next NPC's answer is what the Player came for. */
const LONG = 280;

/** One NPC had another go on, or wanted to. */
export function HandOverLine({ from, npc, message, refused }: HandOver & { from: string }) {
  const verb = refused === null ? "handed over to" : "wanted to hand over to";
  const line = (
    <>
      <strong>{from}</strong> {verb} <strong>{npc}</strong>
    </>
  );
  return (
    <div class="hand-over" data-testid="hand-over" data-refused={refused !== null}>
      {message.length > LONG ? (
        <details>
          <summary>{line}</summary>
          <div class="plain">{message}</div>
        </details>
      ) : (
        <>
          {line}: <span class="plain">{message}</span>
        </>
      )}
    </div>
  );
}
