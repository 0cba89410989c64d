import type { ComponentChildren, RefObject } from "preact";
import type { Part } from "../wire";
import type { OverseenMessage } from "./wire";
import { moment } from "./words";

interface Props {
  messages: OverseenMessage[];
  /** Undefined while it is left out. */
  title: string | null | undefined;
  /** Where the focus goes when it is shown. */
  heading: RefObject<HTMLHeadingElement | null>;
  children: ComponentChildren;
}

export function Messages({ messages, title, heading, children }: Props) {
  return (
    <section class="overseen" aria-labelledby="overseen-title">
      <h3 id="overseen-title" ref={heading} tabIndex={-1}>Newest messages</h3>
      {title !== undefined && <p>{title === null ? <em>Untitled</em> : `“${title}”`}</p>}
      {messages.length === 0 && <p class="small">Nothing has been said yet.</p>}
      <ol>
        {messages.map((message) => (
          <li key={message.id} data-testid="overseen" data-status={message.status}>
            <span class="small">
              {message.author.name}, {moment(message.createdAt)}: {message.status}
              {message.error && (
                <>
                  {" "}
                  <code>{message.error}</code>
                </>
              )}
              , {message.characters} characters{message.kinds.length > 0 && ` (${message.kinds.join(", ")})`}
            </span>
            {message.parts?.map((part, index) => <pre key={index}>{plain(part)}</pre>)}
          </li>
        ))}
      </ol>
      {children}
    </section>
  );
}

/** As text: nothing that was said is drawn as anything else here. */
function plain(part: Part): string {
  switch (part.type) {
    case "text":
    case "reasoning":
    case "notice":
      return part.text;
    default:
      return JSON.stringify(part, null, 1);
  }
}
