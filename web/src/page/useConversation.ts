// What is set for the open Conversation, and who lives here. Frames don't tell of either, so both are looked up again
// when the Player comes back to the page.

import { useEffect, useMemo, useState } from "preact/hooks";
import { api } from "../api";
import type { Conversation, Npc } from "../wire";

export interface OpenConversation {
  /** Null until it is known, and when there is none. */
  conversation: Conversation | null;
  /** Who takes part, in order. */
  party: readonly Npc[];
  /** Everybody who could. */
  npcs: readonly Npc[];
  changed: (now: Conversation) => void;
}

const NOBODY: readonly Npc[] = [];

export function useConversation(id: string | null): OpenConversation {
  const [conversation, setConversation] = useState<Conversation | null>(null);
  const [npcs, setNpcs] = useState<readonly Npc[]>(NOBODY);

  useEffect(() => {
    if (id === null) return;
    let left = false;
    const look = (): void => {
      // Whether it is there at all is the chat's to say; without an answer what is known stays.
      api.conversation(id).then((now) => left || setConversation(now), () => undefined);
      api.npcs().then((now) => left || setNpcs(now), () => undefined);
    };
    const seen = (): void => {
      if (document.visibilityState === "visible") look();
    };
    look();
    document.addEventListener("visibilitychange", seen);
    return () => {
      left = true;
      document.removeEventListener("visibilitychange", seen);
    };
  }, [id]);

  const open = conversation?.id === id ? conversation : null;
  const party = useMemo(() => (open ? open.npcs.map((one) => recordOf(one, npcs)) : NOBODY), [open, npcs]);
  return { conversation: open, party, npcs, changed: setConversation };
}

/** As the Village knows it; one that the list does not have yet is known by name. */
function recordOf(one: Conversation["npcs"][number], npcs: readonly Npc[]): Npc {
  return npcs.find((npc) => npc.id === one.id) ?? { ...one, jobTitle: "", description: "", avatar: null };
}
