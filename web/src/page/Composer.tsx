// Where the Player types. The text belongs to whoever shows the composer, so that one that could not be sent comes back.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";

/** What the server takes as one message. */
const LIMIT = 32_768;
const TELL_FROM = LIMIT - 2_000;

interface Props {
  draft: string;
  change: (text: string) => void;
  send: (text: string) => void;
  hint: string;
  /** What sending is called here; without a name it has no button. */
  label?: string | null;
  /** Nothing can be sent now. */
  busy?: boolean;
  /** With every other number the field is where one types on. */
  focus?: number;
  /** Further buttons, beside the one that sends. */
  beside?: ComponentChildren;
  /** Below the text; the field is described by it. */
  children?: ComponentChildren;
}

export function Composer({ draft, change, send, hint, label = "Send", busy = false, focus = 0, beside, children }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  const below = useId();
  const length = characters(draft);
  const tooLong = length > LIMIT;
  const sendable = !busy && !tooLong && draft.trim() !== "";

  useEffect(() => {
    // On a touch screen the keyboard would cover the page before anybody asked for it.
    if (matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, [focus]);

  useLayoutEffect(() => {
    const { current } = field;
    if (!current) return;
    current.style.height = "auto";
    current.style.height = `${current.scrollHeight + 2}px`;
  }, [draft]);

  const submit = (): void => {
    if (sendable) send(draft);
  };

  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        ref={field}
        rows={1}
        value={draft}
        aria-label={hint}
        aria-invalid={tooLong}
        aria-describedby={below}
        placeholder={hint}
        onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={(event) => {
          // While an input method composes a character, Enter is its own.
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          submit();
        }}
      />
      <div class="composer-buttons">
        {label && (
          <button type="submit" class="primary" disabled={!sendable}>
            {label}
          </button>
        )}
        {beside}
      </div>
      <div id={below} class="composer-below">
        {children}
        <p class={tooLong ? "limit over" : "limit"} role="status">
          {length > TELL_FROM &&
            `${length.toLocaleString("en")} of ${LIMIT.toLocaleString("en")} characters${tooLong ? ": too long to send" : ""}`}
        </p>
      </div>
    </form>
  );
}

/** As the server counts: characters, not the halves that JavaScript makes of some. */
function characters(text: string): number {
  if (text.length <= TELL_FROM) return text.length;
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
