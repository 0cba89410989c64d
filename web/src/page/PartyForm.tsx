// What is set for a Conversation: its title, who takes part, who answers, and what newcomers know.

import { useState } from "preact/hooks";
import { wordsFor } from "../api";
import { insight } from "../api/insight";
import type { Trouble } from "../chat";
import type { Conversation, NewcomersKnow, Npc, SpeakerPolicy } from "../wire";
import { NpcChoice } from "./NpcChoice";
import { TroubleLine } from "./TroubleLine";

interface Props {
  conversation: Conversation;
  npcs: readonly Npc[];
  changed: (now: Conversation) => void;
}

export function PartyForm({ conversation, npcs, changed }: Props) {
  const [title, setTitle] = useState(conversation.title ?? "");
  const [chosen, setChosen] = useState(conversation.npcs.map((npc) => npc.id));
  const [speakerPolicy, setPolicy] = useState(conversation.speakerPolicy);
  const [newcomersKnow, setNewcomers] = useState(conversation.newcomersKnow);
  const [busy, setBusy] = useState(false);
  const [saved, setSaved] = useState(false);
  const [trouble, setTrouble] = useState<Trouble | null>(null);

  const save = async (): Promise<void> => {
    setBusy(true);
    setSaved(false);
    setTrouble(null);
    const renamed = title.trim() !== "" && title !== (conversation.title ?? "");
    try {
      // First what newcomers know: it is to hold for those who join with this.
      const set = await insight.change(conversation.id, { speakerPolicy, newcomersKnow, ...(renamed ? { title } : {}) });
      changed(set);
      if (chosen.join() !== set.npcs.map((npc) => npc.id).join()) changed(await insight.setParty(conversation.id, chosen));
      setSaved(true);
    } catch (error) {
      setTrouble(wordsFor(error));
    }
    setBusy(false);
  };

  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <label>
        Title
        <input type="text" maxLength={200} value={title} onInput={(event) => setTitle(event.currentTarget.value)} />
      </label>
      <NpcChoice legend="Who takes part" npcs={npcs} chosen={chosen} change={setChosen} />
      <label>
        Who answers what addresses nobody
        <select value={speakerPolicy} onChange={(event) => setPolicy(event.currentTarget.value as SpeakerPolicy)}>
          <option value="addressed">Who spoke last</option>
          <option value="round-robin">Each in turn</option>
          <option value="everyone-once">Everybody, one after the other</option>
        </select>
      </label>
      <label>
        What who joins later is told
        <select value={newcomersKnow} onChange={(event) => setNewcomers(event.currentTarget.value as NewcomersKnow)}>
          <option value="from-joining">What is said from then on</option>
          <option value="all">All that was said before, too</option>
        </select>
      </label>
      {trouble && <TroubleLine trouble={trouble} />}
      <div class="row">
        <button type="submit" class="primary" disabled={busy || chosen.length === 0}>
          Save
        </button>
        <span class="small" role="status">
          {chosen.length === 0 ? "Somebody has to take part." : saved && "Saved."}
        </span>
      </div>
    </form>
  );
}
