// The panel about a Conversation: who takes part and how, what an NPC would be told now, and the summary.

import { useState } from "preact/hooks";
import type { Conversation, Npc } from "../wire";
import { Panel } from "./Panel";
import { PartyForm } from "./PartyForm";
import { SummaryView } from "./SummaryView";
import { WouldTell } from "./WouldTell";

const SIDES = { party: "Party", told: "What they would be told now", summary: "Summary" } as const;
type Side = keyof typeof SIDES;

interface Props {
  conversation: Conversation;
  /** Who takes part. */
  party: readonly Npc[];
  /** Everybody who could. */
  npcs: readonly Npc[];
  changed: (now: Conversation) => void;
  close: () => void;
}

export function About({ conversation, party, npcs, changed, close }: Props) {
  const [side, setSide] = useState<Side>("party");
  return (
    <Panel title={conversation.title ?? "This conversation"} close={close}>
      <nav class="sides" aria-label="About this conversation">
        {(Object.keys(SIDES) as Side[]).map((one) => (
          <button key={one} type="button" aria-current={one === side ? "page" : undefined} onClick={() => setSide(one)}>
            {SIDES[one]}
          </button>
        ))}
      </nav>
      {side === "party" && <PartyForm conversation={conversation} npcs={npcs} changed={changed} />}
      {side === "told" && <WouldTell id={conversation.id} party={party} />}
      {side === "summary" && <SummaryView id={conversation.id} />}
    </Panel>
  );
}
