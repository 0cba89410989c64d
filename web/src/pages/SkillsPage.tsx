// Skills: texts that say how something is done, which an NPC loads when it needs them. All of them, or what one NPC has.

import { useState } from "preact/hooks";
import { api } from "../api";
import { abilities } from "../api/abilities";
import { TroubleLine } from "../page/TroubleLine";
import { useAnswer } from "../page/useAnswer";
import type { Npc } from "../wire";
import { SkillForm } from "./SkillForm";
import { SkillItem } from "./SkillItem";
import { SkillUpload } from "./SkillUpload";
import { useCommand } from "./useCommand";

/** `npc`: whose skills; without one all of the Village's and everybody's. */
export function SkillsPage({ admin, npc = null }: { admin: boolean; npc?: Npc | null }) {
  const { value, trouble, again } = useAnswer(async () => {
    const [skills, { problems }, npcs] = await Promise.all([
      abilities.skills(npc?.id ?? null),
      abilities.problems(),
      npc ? [npc] : api.npcs(),
    ]);
    return { skills, problems, npcs };
  }, [npc?.id]);
  const [making, setMaking] = useState(false);
  const { busy, trouble: refused, run } = useCommand();
  if (!value) return trouble && <TroubleLine trouble={trouble} />;
  const { skills, problems, npcs } = value;
  const made = (): void => {
    setMaking(false);
    again();
  };

  return (
    <>
      {[trouble, refused].map((one) => one && <TroubleLine trouble={one} />)}
      <div class="row">
        <button type="button" class="primary" aria-expanded={making} onClick={() => setMaking(!making)}>
          Write a skill
        </button>
        {admin && npc === null && (
          <button
            type="button"
            disabled={busy}
            onClick={() => void run(abilities.rescan).then(again)}
          >
            Read the data folder again
          </button>
        )}
      </div>
      {making && <SkillForm npcs={npcs} fixed={npc} done={made} cancel={() => setMaking(false)} />}
      <SkillUpload npcs={npcs} fixed={npc} done={again} />
      {npc === null && problems.length > 0 && (
        <section class="card" aria-label="Problems of the data folder" data-testid="skill-problems">
          <h2>Not read from the data folder</h2>
          <ul>
            {problems.map(({ folder, message }) => (
              <li key={folder}>
                {folder && <code>{folder}</code>} {message}
              </li>
            ))}
          </ul>
        </section>
      )}
      {skills.length === 0 && <p class="small">There are no skills yet.</p>}
      {skills.map((skill) => (
        <SkillItem key={skill.id} skill={skill} npcs={npcs} changed={again} />
      ))}
    </>
  );
}
