import type { Npc } from "../wire";
import { Avatar } from "./Avatar";

interface Props {
  legend: string;
  npcs: readonly Npc[];
  /** Ids, in the order in which they were chosen. */
  chosen: readonly string[];
  change: (chosen: string[]) => void;
}

/** Whoever is to take part, of all who could. */
export function NpcChoice({ legend, npcs, chosen, change }: Props) {
  const toggle = (id: string): void =>
    change(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id]);
  return (
    <fieldset>
      <legend>{legend}</legend>
      <div class="npcs">
        {npcs.map((npc) => (
          <label key={npc.id} class="npc" data-testid="npc">
            <input type="checkbox" checked={chosen.includes(npc.id)} onChange={() => toggle(npc.id)} />
            <Avatar name={npc.name} avatar={npc.avatar} />
            <span>
              <strong>{npc.name}</strong> {npc.jobTitle && <span class="job">{npc.jobTitle}</span>}
              {npc.description && <span class="about">{npc.description}</span>}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
