import type { Npc } from "../wire";
import { Avatar } from "./Avatar";

/** So many faces are shown; the others are counted. */
const FACES = 4;

/** Who takes part, in the head of a Conversation; it opens what is known and set there. */
export function PartyBar({ party, open }: { party: readonly Npc[]; open: () => void }) {
  const names = party.map((npc) => npc.name).join(", ");
  const label = `${names || "Nobody"}: about this conversation`;
  return (
    <button type="button" class="quiet party" aria-label={label} data-testid="party" onClick={open}>
      <span class="faces">
        {party.slice(0, FACES).map((npc) => (
          <Avatar key={npc.id} name={npc.name} avatar={npc.avatar} />
        ))}
        {party.length > FACES && <span class="avatar">+{party.length - FACES}</span>}
      </span>
      <span class="names">{names}</span>
      <span aria-hidden="true">⋯</span>
    </button>
  );
}
