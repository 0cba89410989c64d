// The panel about a Conversation: who takes part and how, what an NPC would be told now, and the summary.

import { useState } from "preact/hooks";
import type { OpenConversation } from "./useConversation";
import { Panel } from "./Panel";
import { PartyForm } from "./PartyForm";
import { SummaryView } from "./SummaryView";
import { WouldTell } from "./WouldTell";

const SIDES = { party: "Party", told: "What they would be told now", summary: "Summary" } as const;
type Side = keyof typeof SIDES;

export function About({ open, close }: { open: OpenConversation; close: () => void }) {
  const [side, setSide] = useState<Side>("party");
  const { conversation, party, npcs, changed } = open;
  if (!conversation) return null;
  return (
    <Panel title={conversation.title ?? "This conversation"} close={close}>
      <nav class="sides" aria-label="About this conversation">
        {(Object.keys(SIDES) as Side[]).map((one) => (
          <button
            key={one}
            type="button"
            aria-current={one === side ? "page" : undefined}
            onClick={() => setSide(one)}
          >
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
