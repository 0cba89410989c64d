// A call of a Tool with what came of it: one line that opens.

import type { ToolCallPart, ToolResultPart } from "../wire";
import { brief, handOverOf, readable } from "../parts";
import { Approval, type Decide } from "./Approval";
import { HandOverLine } from "./HandOverLine";

/** Longer values are cut: the whole is in the API, and a browser should not lay out megabytes. */
const SHOWN = 8_000;

interface Props {
  call: ToolCallPart;
  result: ToolResultPart | null;
  /** Its Message is still being written. */
  running: boolean;
  /** Whose call it is. */
  author: string;
  decide: Decide;
}

export function CallBox({ call, result, running, author, decide }: Props) {
  const handOver = result && handOverOf(result.output);
  if (handOver) return <HandOverLine from={author} {...handOver} />;
  const waits = running && call.state === "awaiting-approval" && result === null;
  const bad = result?.isError ?? false;
  return (
    <div class={bad ? "tool bad" : waits ? "tool waits" : "tool"} data-testid="tool-call" data-state={call.state}>
      <details>
        <summary>
          <span class="tool-name">{call.name}</span> <span class="tool-brief">{brief(call.input)}</span>
          <span class="tool-state">
            {result ? <Came result={result} /> : running ? <Going state={call.state} /> : "was not run"}
          </span>
        </summary>
        <Value label="Arguments" value={call.input} />
        {result && (
          <div data-testid="tool-result">
            <Value label={bad ? "Error" : "Result"} value={result.output} />
          </div>
        )}
      </details>
      {waits && <Approval call={call} author={author} decide={decide} />}
    </div>
  );
}

/** A result whose call is not in the same Message. */
export function ResultBox({ result, author }: { result: ToolResultPart; author: string }) {
  const handOver = handOverOf(result.output);
  if (handOver) return <HandOverLine from={author} {...handOver} />;
  return (
    <div class={result.isError ? "tool bad" : "tool"} data-testid="tool-result">
      <details>
        <summary>
          <span class="tool-name">{result.name}</span>
          <span class="tool-state">
            <Came result={result} />
          </span>
        </summary>
        <Value label={result.isError ? "Error" : "Result"} value={result.output} />
      </details>
    </div>
  );
}

function Came({ result }: { result: ToolResultPart }) {
  return (
    <>
      {result.isError ? "failed" : "answered"}
      {result.elapsedMs > 0 && ` in ${duration(result.elapsedMs)}`}
      {result.truncated && ", cut"}
    </>
  );
}

function Going({ state }: { state: ToolCallPart["state"] }) {
  return (
    <>
      {state === "running" && <i class="pulse" aria-hidden="true" />}
      {STATES[state]}
    </>
  );
}

function Value({ label, value }: { label: string; value: unknown }) {
  const text = readable(value);
  return (
    <>
      <div class="tool-label">{label}</div>
      <pre tabIndex={0}>
        {text.length > SHOWN ? `${text.slice(0, SHOWN)}\n… ${text.length - SHOWN} more characters` : text}
      </pre>
    </>
  );
}

const STATES: Record<ToolCallPart["state"], string> = {
  streaming: "is being written",
  ready: "is about to run",
  running: "is running",
  "awaiting-client": "waits for a browser",
  "awaiting-approval": "waits for your word",
  done: "",
};

function duration(milliseconds: number): string {
  return milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}
