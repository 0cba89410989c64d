import type { Npc } from "../wire";

interface Props {
  npcs: readonly Npc[];
  npcId: string | null;
  change: (npcId: string | null) => void;
}

/** For the whole Village, or for one NPC. */
export function ForWhom({ npcs, npcId, change }: Props) {
  return (
    <label>
      For whom
      <select value={npcId ?? ""} onChange={(event) => change(event.currentTarget.value || null)}>
        <option value="">The whole Village</option>
        {npcs.map((npc) => (
          <option key={npc.id} value={npc.id}>
            {npc.name}
          </option>
        ))}
      </select>
    </label>
  );
}
