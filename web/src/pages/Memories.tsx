import { useState } from "preact/hooks";
import { abilities } from "../api/abilities";
import { TroubleLine } from "../page/TroubleLine";
import { useAnswer } from "../page/useAnswer";
import type { Npc } from "../wire";
import { MemoryItem } from "./MemoryItem";
import { useCommand } from "./useCommand";

/** Characters of one memory at most, and of a search. */
const LIMIT = 2_000;
const SEARCH = 1_000;

/** What one NPC remembers of the Player. */
export function Memories({ npc }: { npc: Npc }) {
  const [typed, setTyped] = useState("");
  const [asked, setAsked] = useState("");
  const [text, setText] = useState("");
  const [said, setSaid] = useState("");
  const { value, trouble, set, again } = useAnswer(() => abilities.memories(npc.id, { q: asked }), [npc.id, asked]);
  const { busy, trouble: refused, run } = useCommand();

  const more = async (): Promise<void> => {
    if (!value?.next) return;
    const { next, items } = value;
    await run(async () => {
      const page = await abilities.memories(npc.id, { after: next });
      set({ items: [...items, ...page.items], next: page.next });
    });
  };
  const add = async (): Promise<void> => {
    if (!(await run(() => abilities.remember(npc.id, text)))) return;
    setText("");
    setSaid("Kept.");
    again();
  };
  const forgetAll = async (): Promise<void> => {
    if (!confirm(`Have ${npc.name} forget everything about you?`)) return;
    await run(async () => {
      const { deleted } = await abilities.forgetAll(npc.id);
      setSaid(deleted === 1 ? "One memory is forgotten." : `${deleted} memories are forgotten.`);
      again();
    });
  };

  return (
    <>
      <form
        class="row search"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(typed.trim());
        }}
      >
        <input
          type="search"
          aria-label="Search memories"
          placeholder="Search"
          maxLength={SEARCH}
          value={typed}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            if (event.currentTarget.value === "") setAsked("");
          }}
        />
        <button type="submit">Search</button>
      </form>
      <form
        class="row search"
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <input
          type="text"
          aria-label="Something to remember"
          placeholder={`Something that ${npc.name} is to remember`}
          required
          maxLength={LIMIT}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" disabled={busy || text.trim() === ""}>
          Add
        </button>
      </form>
      {[trouble, refused].map((one) => one && <TroubleLine trouble={one} />)}
      <p class="small" role="status">
        {said}
      </p>
      {value?.items.length === 0 && (
        <p class="small">{asked ? "Nothing like that." : `${npc.name} remembers nothing of you.`}</p>
      )}
      <ul class="plain-list">
        {value?.items.map((memory) => (
          <MemoryItem key={memory.id} memory={memory} name={npc.name} changed={again} />
        ))}
      </ul>
      <div class="row">
        {value?.next && (
          <button type="button" disabled={busy} onClick={() => void more()}>
            Load more
          </button>
        )}
        {value && value.items.length > 0 && !asked && (
          <button type="button" class="danger" disabled={busy} onClick={() => void forgetAll()}>
            Forget all
          </button>
        )}
      </div>
    </>
  );
}
