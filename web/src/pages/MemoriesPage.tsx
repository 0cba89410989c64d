// What NPCs remember of the Player who looks, and of nobody else.

import { useState } from "preact/hooks";
import { api } from "../api";
import { TroubleLine } from "../page/TroubleLine";
import { useAnswer } from "../page/useAnswer";
import { Memories } from "./Memories";

export function MemoriesPage() {
  const { value: npcs, trouble } = useAnswer(api.npcs, []);
  const [chosen, setChosen] = useState<string | null>(null);
  if (!npcs) return trouble && <TroubleLine trouble={trouble} />;
  const npc = npcs.find((one) => one.id === chosen) ?? npcs[0];
  if (!npc) return <p class="small">Nobody lives here yet.</p>;
  return (
    <>
      <p class="small">What an NPC was told or has noted of you, and brings to your Conversations. Nobody else sees it.</p>
      <label>
        Who
        <select value={npc.id} onChange={(event) => setChosen(event.currentTarget.value)}>
          {npcs.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
      </label>
      <Memories key={npc.id} npc={npc} />
    </>
  );
}
