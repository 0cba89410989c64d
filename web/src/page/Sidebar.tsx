import { useEffect, useRef } from "preact/hooks";
import { api } from "../api";
import type { Trouble } from "../chat";
import { addressOf, goTo } from "../place";
import { askAgain } from "../stream/link";
import type { Listed, Me } from "../wire";
import { Mark } from "./Mark";
import { TroubleLine } from "./TroubleLine";

interface Props {
  me: Me;
  list: Listed[];
  current: string | null;
  trouble: Trouble | null;
  /** Loads the next page of the list; null at its end. */
  more: (() => void) | null;
  remove: (gone: Listed) => void;
  /** On a small screen the list is a drawer. */
  open: boolean;
  close: () => void;
}

export function Sidebar({ me, list, current, trouble, more, remove, open, close }: Props) {
  const closer = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (open) closer.current?.focus();
  }, [open]);

  return (
    <aside class="sidebar" onKeyDown={(event) => event.key === "Escape" && close()}>
      <div class="brand">
        <Mark /> Hamlet
        <button ref={closer} type="button" class="quiet closer" aria-label="Close the list" onClick={close}>
          ×
        </button>
      </div>
      <a class="button primary" href="/" onClick={(event) => follow(event, null)}>
        New conversation
      </a>
      {trouble && <TroubleLine trouble={trouble} />}
      <nav aria-label="Conversations">
        <ul>
          {list.map((one) => (
            <li key={one.id} class={one.id === current ? "current" : ""}>
              <a
                href={addressOf(one.id)}
                aria-current={one.id === current ? "page" : undefined}
                onClick={(event) => follow(event, one.id)}
              >
                {one.title ?? "Untitled"}
              </a>
              <button
                type="button"
                class="quiet"
                aria-label={`Delete ${one.title ?? "Untitled"}`}
                onClick={() => {
                  if (confirm(`Delete “${one.title ?? "Untitled"}” with all its messages?`)) remove(one);
                }}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
        {more && (
          <button type="button" class="link" onClick={more}>
            Load more
          </button>
        )}
      </nav>
      <div class="who">
        <span>{me.name}</span>
        {me.role === "admin" && <a href="/admin">Actors</a>}
        <button type="button" class="link" onClick={() => void leave()}>
          Sign out
        </button>
      </div>
    </aside>
  );
}

/** Goes there within the page, unless the Player asked for a new tab. */
function follow(event: MouseEvent, id: string | null): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  goTo(id);
}

async function leave(): Promise<void> {
  await api.signOut().catch(() => undefined);
  askAgain();
  // Loading anew drops everything that this tab still knows; replacing keeps it from being brought back whole by "back".
  location.replace("/");
}
