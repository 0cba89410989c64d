import { useState } from "preact/hooks";
import { abilities } from "../api/abilities";
import { TroubleLine } from "../page/TroubleLine";
import type { Memory } from "../wire/abilities";
import { useCommand } from "./useCommand";

interface Props {
  memory: Memory;
  /** Of the NPC whose memory it is. */
  name: string;
  changed: () => void;
}

export function MemoryItem({ memory, name, changed }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const { busy, trouble, run } = useCommand();
  const save = async (text: string): Promise<void> => {
    if (!(await run(() => abilities.reword(memory.id, text)))) return;
    setTyped(null);
    changed();
  };
  return (
    <li class="card item" data-testid="memory">
      {typed === null ? (
        <>
          <div class="plain">{memory.text}</div>
          <div class="row">
            <span class="small">
              {memory.writtenBy === "npc" ? `Noted by ${name}` : "Written by you"},{" "}
              {new Date(memory.updatedAt).toLocaleDateString()}
            </span>
            <button type="button" class="quiet" onClick={() => setTyped(memory.text)}>
              Edit
            </button>
            <button
              type="button"
              class="quiet"
              disabled={busy}
              onClick={() => void run(() => abilities.forget(memory.id)).then((done) => done && changed())}
            >
              Delete
            </button>
          </div>
        </>
      ) : (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void save(typed);
          }}
        >
          <textarea
            rows={3}
            aria-label="Memory"
            maxLength={2_000}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
          <div class="row">
            <button type="submit" class="primary" disabled={busy || typed.trim() === ""}>
              Save
            </button>
            <button type="button" onClick={() => setTyped(null)}>
              Cancel
            </button>
          </div>
        </form>
      )}
      {trouble && <TroubleLine trouble={trouble} />}
    </li>
  );
}
