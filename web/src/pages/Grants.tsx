// What an NPC may call. A Tool that was not granted does not exist for it.

import { useState } from "preact/hooks";
import { abilities } from "../api/abilities";
import { choices, withGrant, type Choice } from "../grants";
import { TroubleLine } from "../page/TroubleLine";
import { useAnswer } from "../page/useAnswer";
import type { Npc } from "../wire";
import type { Grant } from "../wire/abilities";
import { useCommand } from "./useCommand";

export function Grants({ npc }: { npc: Npc }) {
  const asked = useAnswer(
    async () => ({ offered: (await abilities.tools()).items, grants: (await abilities.grants(npc.id)).items }),
    [npc.id],
  );
  const [chosen, setChosen] = useState<Grant[] | null>(null);
  const [saved, setSaved] = useState(false);
  const { busy, trouble, run } = useCommand();
  if (asked.trouble) return <TroubleLine trouble={asked.trouble} />;
  if (!asked.value) return null;
  const { offered, grants } = asked.value;
  const now = chosen ?? grants;

  const set = (tool: string, approval: Grant["approval"] | null): void => {
    setSaved(false);
    setChosen(withGrant(now, tool, approval));
  };
  const save = async (): Promise<void> => {
    setSaved(
      await run(async () => {
        const { items } = await abilities.grant(npc.id, now);
        asked.set({ offered, grants: items });
        setChosen(null);
      }),
    );
  };

  return (
    <form
      class="stack"
      aria-label="Tools"
      data-testid="grants"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <h2>Tools</h2>
      {choices(offered, grants).map(({ name, tools }) => (
        <fieldset key={name}>
          <legend class="small">{sourceName(name)}</legend>
          {tools.map((tool) => (
            <Row key={tool.key} tool={tool} grant={now.find((one) => one.tool === tool.key)} set={set} />
          ))}
        </fieldset>
      ))}
      {trouble && <TroubleLine trouble={trouble} />}
      <div class="row">
        <button type="submit" class="primary" disabled={busy || chosen === null}>
          Save
        </button>
        <span class="small" role="status">
          {saved && "Saved. It holds from the next reply on."}
        </span>
      </div>
    </form>
  );
}

function sourceName(name: string | null): string {
  return name === null ? "Granted, and offered by nobody now" : (SOURCES[name] ?? name);
}

/** Of the capabilities that are bundled; another is called what it calls itself. */
const SOURCES: Record<string, string> = {
  party: "In a party",
  memory: "Memory",
  skills: "Skills",
  toolbox: "Built in",
  "tool-servers": "From tool servers",
};

interface RowProps {
  tool: Choice;
  grant: Grant | undefined;
  set: (tool: string, approval: Grant["approval"] | null) => void;
}

function Row({ tool: { key, description }, grant, set }: RowProps) {
  return (
    <div class="grant">
      <label class="check">
        <input type="checkbox" checked={grant !== undefined} onChange={() => set(key, grant ? null : "never")} />
        <code>{key}</code>
      </label>
      <label class="check ask">
        <input
          type="checkbox"
          checked={grant?.approval === "always"}
          disabled={!grant}
          aria-label={`Ask me first: ${key}`}
          onChange={(event) => set(key, event.currentTarget.checked ? "always" : "never")}
        />
        Ask me first
      </label>
      {description && <p class="small">{description}</p>}
    </div>
  );
}
