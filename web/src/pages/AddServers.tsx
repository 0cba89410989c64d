import { useState } from "preact/hooks";
import { abilities } from "../api/abilities";
import { TroubleLine } from "../page/TroubleLine";
import { argumentsIn } from "../parts";
import { useCommand } from "./useCommand";

const EXAMPLE = '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "a-tool-server"]}}}';

/** Takes the document that other programs have, or one server. */
export function AddServers({ added }: { added: () => void }) {
  const [typed, setTyped] = useState("");
  const { busy, trouble, run } = useCommand();
  const described = argumentsIn(typed);
  const add = async (): Promise<void> => {
    if (!described || !(await run(() => abilities.addToolServers(described)))) return;
    setTyped("");
    added();
  };
  return (
    <form
      class="card stack"
      aria-label="Add tool servers"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <h2>Add tool servers</h2>
      <label>
        As JSON: <code>mcpServers</code> as other programs have it, or one server with <code>name</code> and{" "}
        <code>command</code> or <code>url</code>
        <textarea
          rows={6}
          spellcheck={false}
          placeholder={EXAMPLE}
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <p class="small">A server with a command runs on this machine, with all that its program may do.</p>
      {trouble && <TroubleLine trouble={trouble} />}
      <div class="row">
        <button type="submit" class="primary" disabled={busy || !described}>
          Add
        </button>
        <span class="limit" role="status">
          {typed.trim() !== "" && !described && "That is no JSON object yet."}
        </span>
      </div>
    </form>
  );
}
