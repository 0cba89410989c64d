// The rolling summary: what stands for the part of the Conversation that is not told word by word any more.

import { useState } from "preact/hooks";
import { wordsFor } from "../api";
import { insight } from "../api/insight";
import type { Trouble } from "../chat";
import type { Summary, SummaryVersions } from "../wire/insight";
import { TroubleLine } from "./TroubleLine";
import { useAnswer } from "./useAnswer";

export function SummaryView({ id }: { id: string }) {
  const { value, trouble, set, again } = useAnswer(() => insight.summary(id), [id]);
  /** The text while it is changed, and the version that it was. */
  const [typed, setTyped] = useState<{ text: string; version: number } | null>(null);
  const [refused, setRefused] = useState<Trouble | null>(null);
  const [busy, setBusy] = useState(false);

  const run = async (ask: () => Promise<SummaryVersions>): Promise<void> => {
    setBusy(true);
    setRefused(null);
    try {
      set(await ask());
      setTyped(null);
    } catch (error) {
      setRefused(wordsFor(error));
      // Another one counts by now: what is typed stays, and can be saved over it once that was seen.
      again();
    }
    setBusy(false);
  };

  if (trouble) return <TroubleLine trouble={trouble} />;
  if (!value) return null;
  const { summary, versions } = value;
  return (
    <div class="stack" data-testid="summary">
      {refused && <TroubleLine trouble={refused} />}
      {!summary && <p>Everything that was said is told word by word. There is no summary.</p>}
      {summary && <About summary={summary} />}
      {summary && typed === null && (
        <>
          <div class="plain summary-text">{summary.text}</div>
          <div class="row">
            <button type="button" disabled={busy} onClick={() => setTyped({ text: summary.text, version: summary.version })}>
              Edit
            </button>
            <button type="button" disabled={busy} onClick={() => void run(() => insight.undo(id))}>
              Undo this version
            </button>
          </div>
        </>
      )}
      {summary && typed && (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void run(() => insight.rewrite(id, typed.text, summary.version));
          }}
        >
          <textarea
            rows={10}
            aria-label="Summary"
            value={typed.text}
            onInput={(event) => setTyped({ ...typed, text: event.currentTarget.value })}
          />
          {summary.version !== typed.version && (
            <p class="small" role="status">
              Meanwhile version {summary.version} was made. Saving puts your text in its place.
            </p>
          )}
          <div class="row">
            <button type="submit" class="primary" disabled={busy || typed.text.trim() === ""}>
              Save
            </button>
            <button type="button" onClick={() => setTyped(null)}>
              Cancel
            </button>
          </div>
        </form>
      )}
      {versions.length > 1 && (
        <details>
          <summary>All {versions.length} versions</summary>
          {versions.map((version) => (
            <details key={version.version} class="fold">
              <summary>
                <Line summary={version} /> {!version.inUse && "(not in use)"}
              </summary>
              <div class="plain">{version.text}</div>
            </details>
          ))}
        </details>
      )}
    </div>
  );
}

function About({ summary }: { summary: Summary }) {
  return (
    <p class="small">
      <Line summary={summary} />. What is said word by word begins behind it.
    </p>
  );
}

function Line({ summary }: { summary: Summary }) {
  const { version, fromPosition, throughPosition, madeBy, createdAt } = summary;
  return (
    <>
      Version {version}, made by {MAKERS[madeBy]} on {new Date(createdAt).toLocaleString()}, covers messages{" "}
      {fromPosition} to {throughPosition}
    </>
  );
}

const MAKERS: Record<Summary["madeBy"], string> = { model: "a model", extract: "rule, as an extract", player: "you" };
