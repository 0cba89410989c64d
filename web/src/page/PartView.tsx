import type { Entry } from "../fold";
import { safeAddress } from "../markdown/parse";
import type { Drawn } from "../parts";
import type { KnownPart } from "../wire";
import type { Decide } from "./Approval";
import { Text } from "./MessageView";
import { CallBox, ResultBox } from "./ToolBox";

/** One Part, or a call with its result. A Part of a type that this page does not know is passed over. */
export function PartView({ drawn, entry, decide }: { drawn: Drawn; entry: Entry; decide: Decide }) {
  const { role, author } = entry;
  const running = entry.status === "running";
  if (drawn.kind === "call") {
    return <CallBox call={drawn.call} result={drawn.result} running={running} author={author.name} decide={decide} />;
  }
  const known = drawn.part as KnownPart;
  switch (known.type) {
    case "text":
      return <Text role={role} text={known.text} />;
    case "reasoning":
      return (
        <details class="reasoning" data-testid="reasoning">
          <summary>{known.redacted && known.text === "" ? "Reasoning, withheld by the Provider" : "Reasoning"}</summary>
          <div class="plain">{known.text}</div>
        </details>
      );
    case "tool-result":
      return <ResultBox result={known} author={author.name} />;
    case "file":
      return <p class="small">📎 {known.filename}</p>;
    case "source":
      return <Source url={known.url} title={known.title} />;
    case "notice":
      return (
        <p class="notice" data-code={known.code}>
          {known.text}
        </p>
      );
    default:
      return null;
  }
}

function Source({ url, title }: { url?: string | undefined; title?: string | undefined }) {
  const address = safeAddress(url ?? "");
  return (
    <p class="small">
      Source:{" "}
      {address ? (
        <a href={address} target="_blank" rel="noopener noreferrer nofollow">
          {title ?? address}
        </a>
      ) : (
        (title ?? url)
      )}
    </p>
  );
}
