import { abilities } from "../api/abilities";
import { TroubleLine } from "../page/TroubleLine";
import type { ToolServer } from "../wire/abilities";
import { useCommand } from "./useCommand";

export function ServerItem({ server, changed }: { server: ToolServer; changed: () => void }) {
  const { busy, trouble, run } = useCommand();
  const { name, enabled, status, error, tools = [], leftOut = [], stderr = [] } = server;
  const isGiven = server.source === "file";
  const command = [server.command, ...(server.args ?? [])].filter((word) => word).join(" ");
  const act = (what: () => Promise<unknown>): void => void run(what).then((done) => done && changed());
  return (
    <section class="card item" aria-label={name} data-testid="tool-server" data-status={status}>
      <h2>
        {name} <span class="scope">{status}</span>
      </h2>
      {(server.url || command) && <code class="small">{server.url || command}</code>}
      {error && <p class="failure">{error}</p>}
      {trouble && <TroubleLine trouble={trouble} />}
      {tools.length > 0 && (
        <details>
          <summary>{tools.length === 1 ? "One tool" : `${tools.length} tools`}</summary>
          <ul>
            {tools.map((tool) => (
              <li key={tool.key}>
                <code>{tool.key}</code> {tool.description}
              </li>
            ))}
          </ul>
        </details>
      )}
      {leftOut.length > 0 && (
        <details>
          <summary>{leftOut.length} left out</summary>
          <ul>
            {leftOut.map((tool) => (
              <li key={tool.key}>
                <code>{tool.key}</code> {tool.reason}
              </li>
            ))}
          </ul>
        </details>
      )}
      {stderr.length > 0 && (
        <details>
          <summary>What it printed last</summary>
          <pre tabIndex={0}>{stderr.join("\n")}</pre>
        </details>
      )}
      {isGiven && (
        <p class="small">
          It comes from <code>mcp.json</code> in the data folder and is changed there.
        </p>
      )}
      <div class="row">
        <label class="check">
          <input
            type="checkbox"
            role="switch"
            checked={enabled}
            disabled={busy || isGiven}
            onChange={(event) => {
              const { checked } = event.currentTarget;
              act(() => abilities.changeToolServer(server.id, { enabled: checked }));
            }}
          />
          On
        </label>
        <button type="button" disabled={busy || !enabled} onClick={() => act(() => abilities.reconnect(server.id))}>
          Connect again
        </button>
        <button
          type="button"
          disabled={busy || isGiven}
          onClick={() => {
            if (confirm(`Delete the tool server ${name}?`)) act(() => abilities.removeToolServer(server.id));
          }}
        >
          Delete
        </button>
      </div>
    </section>
  );
}
