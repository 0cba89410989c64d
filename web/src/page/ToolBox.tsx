import type { ToolCallPart, ToolResultPart } from "../wire";

/** Longer values are cut: the whole is in the API, and a browser should not lay out megabytes. */
const SHOWN = 8_000;

export function CallBox({ call, running }: { call: ToolCallPart; running: boolean }) {
  return (
    <details class="tool" data-testid="tool-call" data-state={call.state}>
      <summary>
        <span class="tool-name">{call.name}</span> <span class="tool-state">{running ? STATES[call.state] : ""}</span>
      </summary>
      <pre tabIndex={0}>{shown(call.input)}</pre>
    </details>
  );
}

export function ResultBox({ result }: { result: ToolResultPart }) {
  return (
    <details class={result.isError ? "tool bad" : "tool"} data-testid="tool-result">
      <summary>
        <span class="tool-name">{result.name}</span>{" "}
        <span class="tool-state">
          {result.isError ? "failed" : "answered"}
          {result.elapsedMs > 0 && ` in ${duration(result.elapsedMs)}`}
          {result.truncated && ", cut"}
        </span>
      </summary>
      <pre tabIndex={0}>{shown(result.output)}</pre>
    </details>
  );
}

const STATES: Record<ToolCallPart["state"], string> = {
  streaming: "is being called",
  ready: "is being called",
  running: "is running",
  "awaiting-client": "waits for a browser",
  "awaiting-approval": "waits for approval",
  done: "",
};

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}\n… ${text.length - SHOWN} more characters` : text;
}

function duration(milliseconds: number): string {
  return milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}
