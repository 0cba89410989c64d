import { useState } from "preact/hooks";
import { abilities } from "../api/abilities";
import { TroubleLine } from "../page/TroubleLine";
import type { Npc } from "../wire";
import type { Skill } from "../wire/abilities";
import { ForWhom } from "./ForWhom";
import { useCommand } from "./useCommand";

interface Props {
  npcs: readonly Npc[];
  /** The one that is changed; without one another is made. */
  skill?: Skill;
  /** For this NPC and nobody else. */
  fixed?: Npc | null;
  done: (now: Skill) => void;
  cancel: () => void;
}

export function SkillForm({ npcs, skill, fixed = null, done, cancel }: Props) {
  const [name, setName] = useState(skill?.name ?? "");
  const [description, setDescription] = useState(skill?.description ?? "");
  const [instructions, setInstructions] = useState(skill?.instructions ?? "");
  const [npcId, setNpcId] = useState<string | null>(fixed?.id ?? null);
  const { busy, trouble, run } = useCommand();

  const save = (): Promise<boolean> =>
    run(async () => {
      const text = { name, description, instructions };
      done(skill ? await abilities.changeSkill(skill.id, text) : await abilities.makeSkill(text, npcId));
    });

  return (
    <form
      class="card stack"
      aria-label={skill ? `Edit ${skill.name}` : "A new skill"}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <label>
        Name
        <input
          type="text"
          required
          maxLength={64}
          pattern="[a-z0-9]+(-[a-z0-9]+)*"
          title="a-z, 0-9, and single hyphens between them"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <label>
        What it does, and when to use it
        <textarea
          rows={2}
          required
          maxLength={1024}
          value={description}
          onInput={(event) => setDescription(event.currentTarget.value)}
        />
      </label>
      <label>
        Instructions
        <textarea rows={10} required value={instructions} onInput={(event) => setInstructions(event.currentTarget.value)} />
      </label>
      {!skill && !fixed && <ForWhom npcs={npcs} npcId={npcId} change={setNpcId} />}
      {trouble && <TroubleLine trouble={trouble} />}
      <div class="row">
        <button type="submit" class="primary" disabled={busy}>
          Save
        </button>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}
