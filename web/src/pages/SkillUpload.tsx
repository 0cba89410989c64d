import { useRef, useState } from "preact/hooks";
import { abilities } from "../api/abilities";
import { TroubleLine } from "../page/TroubleLine";
import type { Npc } from "../wire";
import { ForWhom } from "./ForWhom";
import { useCommand } from "./useCommand";

/** What of an archive is told: the rest of a long list is counted. */
const TOLD = 20;

interface Props {
  npcs: readonly Npc[];
  fixed: Npc | null;
  done: () => void;
}

/** Takes skills out of a zip archive, all of them or none. */
export function SkillUpload({ npcs, fixed, done }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const [archive, setArchive] = useState<File | null>(null);
  const [npcId, setNpcId] = useState<string | null>(fixed?.id ?? null);
  const [taken, setTaken] = useState<{ names: string[]; left: string[] } | null>(null);
  const { busy, trouble, run } = useCommand();

  const upload = async (file: File): Promise<void> => {
    setTaken(null);
    const did = await run(async () => {
      const { items, notImported } = await abilities.uploadSkills(file, npcId);
      setTaken({ names: items.map((item) => item.name), left: notImported });
    });
    if (!did) return;
    setArchive(null);
    if (field.current) field.current.value = "";
    done();
  };

  return (
    <details class="card item">
      <summary>Upload a zip archive</summary>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (archive) void upload(archive);
        }}
      >
        <label>
          Archive with one or several SKILL.md
          <input
            ref={field}
            type="file"
            accept=".zip,application/zip"
            onChange={(event) => setArchive(event.currentTarget.files?.[0] ?? null)}
          />
        </label>
        {!fixed && <ForWhom npcs={npcs} npcId={npcId} change={setNpcId} />}
        {trouble && <TroubleLine trouble={trouble} />}
        <div class="row">
          <button type="submit" disabled={busy || !archive}>
            Upload
          </button>
        </div>
        <div role="status">
          {taken && (
            <p class="small">
              Taken: {taken.names.join(", ")}.
              {taken.left.length > 0 && ` Left out: ${taken.left.slice(0, TOLD).join(", ")}`}
              {taken.left.length > TOLD && ` and ${taken.left.length - TOLD} more`}
            </p>
          )}
        </div>
      </form>
    </details>
  );
}
