// Where the Player types. The text belongs to whoever shows the composer, so that one that could not be sent comes back.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Nameable } from "../mention";
import { MentionList } from "./MentionList";
import { useMentions } from "./useMentions";

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
  /** Who can be addressed with an `@` at the beginning. */
  party?: readonly Nameable[];
  /** Further buttons, beside the one that sends. */
  beside?: ComponentChildren;
  /** Below the text; the field is described by it. */
  children?: ComponentChildren;
}

const NOBODY: readonly Nameable[] = [];

export function Composer(props: Props) {
  const { draft, change, send, hint, label = "Send", busy = false, focus = 0, party = NOBODY, beside, children } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  const mentions = useMentions({ field, draft, change, party });
  const names = mentions.list.length;
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
        aria-autocomplete={party.length > 0 ? "list" : undefined}
        aria-controls={names > 0 ? mentions.listId : undefined}
        aria-activedescendant={names > 0 ? mentions.optionId(mentions.at) : undefined}
        placeholder={hint}
        onInput={(event) => {
          mentions.moved();
          change(event.currentTarget.value);
        }}
        onSelect={mentions.moved}
        onKeyDown={(event) => {
          if (mentions.key(event)) return;
          // While an input method composes a character, Enter is its own.
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          submit();
        }}
      />
      {names > 0 && (
        <MentionList
          id={mentions.listId}
          list={mentions.list}
          at={mentions.at}
          optionId={mentions.optionId}
          choose={mentions.choose}
        />
      )}
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
        <p class="offscreen" role="status">
          {names > 0 && `${names === 1 ? "One name" : `${names} names`}: arrows choose, Enter takes it.`}
        </p>
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
