// What operators did and looked at, the newest first.

import { useEffect, useState } from "preact/hooks";
import { wordsFor } from "../api";
import type { Trouble } from "../chat";
import { TroubleLine } from "../page/TroubleLine";
import { admin } from "./api";
import type { AuditEntry } from "./wire";
import { deed, moment, short } from "./words";

export function AuditList({ choose }: { choose: (id: string) => void }) {
  const [entries, setEntries] = useState<AuditEntry[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [trouble, setTrouble] = useState<Trouble | null>(null);

  const load = async (after: string | null): Promise<void> => {
    try {
      const page = await admin.audit(after);
      setEntries((known) => (after === null ? page.items : [...(known ?? []), ...page.items]));
      setNext(page.next);
      setTrouble(null);
    } catch (error) {
      setTrouble(wordsFor(error));
    }
  };
  useEffect(() => void load(null), []);

  return (
    <section aria-labelledby="audit-title">
      <div class="filters">
        <h1 id="audit-title">What operators did</h1>
        <button type="button" onClick={() => void load(null)}>
          Look again
        </button>
      </div>
      {trouble && <TroubleLine trouble={trouble} />}
      <div class="table" role="region" aria-label="Audit" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Who</th>
              <th scope="col">What</th>
              <th scope="col">Conversation</th>
              <th scope="col">Outcome</th>
            </tr>
          </thead>
          <tbody>
            {entries?.map((entry) => (
              <tr key={entry.id} data-testid="audit" data-action={entry.action} data-outcome={entry.outcome}>
                <td class="nowrap">{moment(entry.at)}</td>
                <td>{entry.player.name}</td>
                <td>{deed(entry)}</td>
                <td>
                  {entry.conversationId && (
                    <button
                      type="button"
                      class="link"
                      title={entry.conversationId}
                      onClick={() => choose(entry.conversationId!)}
                    >
                      {short(entry.conversationId)}
                    </button>
                  )}
                </td>
                <td>{entry.outcome === "ok" ? "done" : <code>{entry.outcome}</code>}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {entries?.length === 0 && <p class="none">Nothing yet.</p>}
      </div>
      {next && (
        <button type="button" class="link" onClick={() => void load(next)}>
          Load more
        </button>
      )}
    </section>
  );
}
