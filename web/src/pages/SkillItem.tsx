import { useState } from "preact/hooks";
import { abilities } from "../api/abilities";
import { TroubleLine } from "../page/TroubleLine";
import type { Npc } from "../wire";
import type { Skill, SkillEntry } from "../wire/abilities";
import { SkillForm } from "./SkillForm";
import { useCommand } from "./useCommand";

interface Props {
  skill: SkillEntry;
  npcs: readonly Npc[];
  changed: () => void;
}

/** One skill; its text is asked for when it is opened. */
export function SkillItem({ skill, npcs, changed }: Props) {
  const [whole, setWhole] = useState<Skill | null>(null);
  const [editing, setEditing] = useState(false);
  const { busy, trouble, run } = useCommand();

  const load = (): void => {
    if (!whole) void run(async () => setWhole(await abilities.skill(skill.id)));
  };
  const remove = (): void => {
    if (!confirm(`Delete the skill ${skill.name}?`)) return;
    void run(() => abilities.deleteSkill(skill.id)).then((done) => done && changed());
  };

  return (
    <details class="card item" data-testid="skill" onToggle={(event) => event.currentTarget.open && load()}>
      <summary>
        <strong>{skill.name}</strong> <span class="scope">{scopeOf(skill, npcs)}</span>
        <span class="about">{skill.description}</span>
      </summary>
      {trouble && <TroubleLine trouble={trouble} />}
      {whole && !editing && (
        <>
          <pre tabIndex={0}>{whole.instructions}</pre>
          {whole.files.length > 0 && (
            <ul class="files">
              {whole.files.map((path) => (
                <li key={path}>
                  <a href={abilities.fileAddress(whole.id, path)} target="_blank" rel="noopener">
                    {path}
                  </a>
                </li>
              ))}
            </ul>
          )}
          {skill.allowedTools.length > 0 && (
            <p class="small">It names the tools {skill.allowedTools.join(", ")}, and grants none.</p>
          )}
          {skill.folder === null ? (
            <div class="row">
              <button type="button" onClick={() => setEditing(true)}>
                Edit
              </button>
              <button type="button" disabled={busy} onClick={remove}>
                Delete
              </button>
            </div>
          ) : (
            <p class="small">
              It comes from <code>skills/{skill.folder}</code> in the data folder and is changed there.
            </p>
          )}
        </>
      )}
      {whole && editing && (
        <SkillForm
          npcs={npcs}
          skill={whole}
          done={(now) => {
            setWhole(now);
            setEditing(false);
            changed();
          }}
          cancel={() => setEditing(false)}
        />
      )}
    </details>
  );
}

function scopeOf({ npcId, folder }: SkillEntry, npcs: readonly Npc[]): string {
  const whose = npcId === null ? "the whole Village" : (npcs.find((npc) => npc.id === npcId)?.name ?? "somebody");
  return folder === null ? `for ${whose}` : `for ${whose}, from the data folder`;
}
