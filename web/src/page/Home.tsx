// The first screen: who answers here, whom to talk to, and the first message.

import { useEffect, useState } from "preact/hooks";
import { api, wordsFor } from "../api";
import type { Trouble } from "../chat";
import type { Conversation, Me, Npc } from "../wire";
import { Composer } from "./Composer";
import { NpcChoice } from "./NpcChoice";
import { ProviderNotice } from "./ProviderNotice";
import { TroubleLine } from "./TroubleLine";

interface Props {
  me: Me;
  begun: (conversation: Conversation, text: string) => void;
}

export function Home({ me, begun }: Props) {
  const [npcs, setNpcs] = useState<Npc[] | null>(null);
  const [chosen, setChosen] = useState<string[]>([]);
  const [draft, setDraft] = useState("");
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [busy, setBusy] = useState(false);

  useEffect(() => {
    api.npcs().then(
      (items) => {
        setNpcs(items);
        setChosen(items.slice(0, 1).map((npc) => npc.id));
      },
      (error: unknown) => setTrouble(wordsFor(error)),
    );
  }, []);

  const begin = async (text: string): Promise<void> => {
    setTrouble(null);
    if (chosen.length === 0) {
      setTrouble({ message: "Choose somebody to talk to first.", code: null });
      return;
    }
    setBusy(true);
    try {
      begun(await api.begin(chosen), text);
    } catch (error) {
      setTrouble(wordsFor(error));
      setBusy(false);
    }
  };

  const names = npcs?.filter((npc) => chosen.includes(npc.id)).map((npc) => npc.name) ?? [];
  return (
    <>
      <div class="scroll">
        <div class="column home">
          <ProviderNotice admin={me.role === "admin"} />
          <div>
            <NpcChoice legend="Whom do you want to talk to?" npcs={npcs ?? []} chosen={chosen} change={setChosen} />
            {npcs?.length === 0 && <p class="small">Nobody lives here yet. An admin adds NPCs through the API.</p>}
            {chosen.length > 1 && <p class="small">{names.join(", ")}: they talk with you as a party.</p>}
          </div>
        </div>
      </div>
      <div class="dock">
        <div class="column">
          {trouble && <TroubleLine trouble={trouble} dismiss={() => setTrouble(null)} />}
          <Composer
            draft={draft}
            change={setDraft}
            send={(text) => void begin(text)}
            busy={busy}
            party={chosen.length > 1 ? (npcs ?? []).filter((npc) => chosen.includes(npc.id)) : []}
            hint={names.length > 0 ? `Message ${names.join(", ")}` : "Message"}
          />
        </div>
      </div>
    </>
  );
}
