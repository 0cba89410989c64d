import type { KnownPart, Part, Role } from "../wire";
import { Text } from "./MessageView";
import { CallBox, ResultBox } from "./ToolBox";
import { safeAddress } from "../markdown/parse";

/** One Part. A Part of a type that this page does not know is passed over. */
export function PartView({ part, role, running }: { part: Part; role: Role; running: boolean }) {
  const known = part as KnownPart;
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
    case "tool-call":
      return <CallBox call={known} running={running} />;
    case "tool-result":
      return <ResultBox result={known} />;
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
