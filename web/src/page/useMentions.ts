// Completes an `@` at the beginning of what is typed, by keys or with the mouse.

import type { RefObject } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { mentionable, mentioned, type Nameable } from "../mention";

interface Typing {
  field: RefObject<HTMLTextAreaElement | null>;
  draft: string;
  change: (text: string) => void;
  party: readonly Nameable[];
}

export function useMentions({ field, draft, change, party }: Typing) {
  const listId = useId();
  const [caret, setCaret] = useState(0);
  const [active, setActive] = useState(0);
  /** Closed with Escape for this text; another text opens it again. */
  const [closedFor, setClosedFor] = useState<string | null>(null);
  const place = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (place.current === null) return;
    field.current?.setSelectionRange(place.current, place.current);
    place.current = null;
  }, [draft]);

  const list = closedFor === draft ? [] : mentionable(draft, caret, party);
  const at = Math.min(active, list.length - 1);
  const choose = (one: Nameable): void => {
    const { text, caret: behind } = mentioned(draft, caret, one.name);
    place.current = behind;
    setCaret(behind);
    setActive(0);
    change(text);
    field.current?.focus();
  };

  return {
    listId,
    list,
    at,
    choose,
    optionId: (index: number): string => `${listId}-${index}`,
    /** Call when the text or the caret is another. */
    moved: (): void => setCaret(field.current?.selectionStart ?? 0),
    /** Whether the key was for the list. */
    key: (event: KeyboardEvent): boolean => {
      const chosen = list[at];
      if (!chosen || event.isComposing || event.shiftKey) return false;
      switch (event.key) {
        case "ArrowDown":
          setActive((at + 1) % list.length);
          break;
        case "ArrowUp":
          setActive((at + list.length - 1) % list.length);
          break;
        case "Enter":
        case "Tab":
          choose(chosen);
          break;
        case "Escape":
          setClosedFor(draft);
          break;
        default:
          return false;
      }
      event.preventDefault();
      return true;
    },
  };
}
