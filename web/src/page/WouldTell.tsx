import { useState } from "preact/hooks";
import { insight } from "../api/insight";
import type { Npc } from "../wire";
import { PromptView } from "./PromptView";
import { TroubleLine } from "./TroubleLine";
import { useAnswer } from "./useAnswer";

/** What one of the Party would be told if it were asked now, before the Player's next words. */
export function WouldTell({ id, party }: { id: string; party: readonly Npc[] }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const npc = party.find((one) => one.id === chosen) ?? party[0];
  if (!npc) return <p class="small">Nobody takes part.</p>;
  return (
    <div class="stack">
      {party.length > 1 && (
        <label>
          Who
          <select value={npc.id} onChange={(event) => setChosen(event.currentTarget.value)}>
            {party.map((one) => (
              <option key={one.id} value={one.id}>
                {one.name}
              </option>
            ))}
          </select>
        </label>
      )}
      <Asked key={npc.id} id={id} npcId={npc.id} />
    </div>
  );
}

function Asked({ id, npcId }: { id: string; npcId: string }) {
  const { value, trouble } = useAnswer(() => insight.wouldTell(id, npcId), [id, npcId]);
  if (trouble) return <TroubleLine trouble={trouble} />;
  return value && <PromptView prompt={value} />;
}
