import { useEffect, useRef } from "preact/hooks";
import { api } from "../api";
import type { Trouble } from "../chat";
import { Menu } from "../pages/Menu";
import { addressOf, follow, type Place } from "../place";
import { askAgain } from "../stream/link";
import type { Listed, Me } from "../wire";
import { Mark } from "./Mark";
import { TroubleLine } from "./TroubleLine";

interface Props {
  me: Me;
  list: Listed[];
  current: Place;
  trouble: Trouble | null;
  /** Loads the next page of the list; null at its end. */
  more: (() => void) | null;
  remove: (gone: Listed) => void;
  /** On a small screen the list is a drawer. */
  drawn: boolean;
  close: () => void;
}

export function Sidebar({ me, list, current, trouble, more, remove, drawn, close }: Props) {
  const closer = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (drawn) closer.current?.focus();
  }, [drawn]);
  const open = current.at === "conversation" ? current.id : null;

  return (
    <aside class="sidebar" onKeyDown={(event) => event.key === "Escape" && close()}>
      <div class="brand">
        <Mark /> Hamlet
        <button ref={closer} type="button" class="quiet closer" aria-label="Close the list" onClick={close}>
          ×
        </button>
      </div>
      <a class="button primary" href="/" onClick={(event) => follow(event, "/")}>
        New conversation
      </a>
      {trouble && <TroubleLine trouble={trouble} />}
      <nav aria-label="Conversations">
        <ul>
          {list.map((one) => (
            <li key={one.id} class={one.id === open ? "current" : ""}>
              <a
                href={addressOf(one.id)}
                aria-current={one.id === open ? "page" : undefined}
                onClick={(event) => follow(event, addressOf(one.id))}
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
      <Menu me={me} current={current.at === "page" ? current.name : null} />
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

async function leave(): Promise<void> {
  await api.signOut().catch(() => undefined);
  askAgain();
  // Loading anew drops everything that this tab still knows; replacing keeps it from being brought back whole by "back".
  location.replace("/");
}
