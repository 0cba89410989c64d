// What an operator can do with an actor. Each asks first: a restart cuts a reply off.

import { useState } from "preact/hooks";
import { wordsFor } from "../api";
import type { Trouble } from "../chat";
import { admin } from "./api";
import type { Actor } from "./wire";

interface Props {
  actor: Actor;
  done: (what: string) => void;
  failed: (trouble: Trouble) => void;
}

interface Deed {
  word: string;
  applies: boolean;
  question: string;
  run: () => Promise<string>;
}

export function Actions({ actor, done, failed }: Props) {
  const [busy, setBusy] = useState(false);
  const id = actor.conversationId;
  const { turn, state } = actor;
  const awake = state !== "asleep" && state !== "quarantined";

  const deeds: Deed[] = [
    {
      word: "Stop the turn",
      applies: turn !== null,
      question: "Stop this turn? What was written so far is kept, and everybody who watches sees the end.",
      run: async () => {
        const { aborted } = await admin.abort(id, turn!.id);
        return aborted ? "The turn was stopped." : "The turn had ended already.";
      },
    },
    {
      word: "Restart the actor",
      applies: awake,
      question: "Restart this actor? A turn that runs ends as failed, with what was written so far.",
      run: async () => {
        await admin.restart(id);
        return "The actor was restarted.";
      },
    },
    {
      word: "Let it sleep",
      applies: state === "idle",
      question: "Let this actor sleep? The next message wakes it.",
      run: async () => {
        await admin.retire(id);
        return "The actor sleeps.";
      },
    },
    {
      word: "Release",
      applies: state === "quarantined",
      question: "Release this conversation? The next message wakes its actor, which failed again and again before.",
      run: async () => {
        await admin.release(id);
        return "The conversation is released.";
      },
    },
  ];

  const run = async (deed: Deed): Promise<void> => {
    if (!confirm(deed.question)) return;
    setBusy(true);
    try {
      done(await deed.run());
    } catch (error) {
      failed(wordsFor(error));
    }
    setBusy(false);
  };

  return (
    <div class="actions" role="group" aria-label="Actions">
      {deeds.map((deed) => (
        <button key={deed.word} type="button" disabled={busy || !deed.applies} onClick={() => void run(deed)}>
          {deed.word}
        </button>
      ))}
    </div>
  );
}
