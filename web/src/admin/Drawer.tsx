// One actor in full: its fields, what an operator can do with it, and its newest messages. What was said is left out until
// it is asked for, because asking is written down.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, wordsFor } from "../api";
import type { Trouble } from "../chat";
import { TroubleLine } from "../page/TroubleLine";
import { Actions } from "./Actions";
import { admin } from "./api";
import { Fields } from "./Fields";
import { StateWord } from "./Filters";
import { Messages } from "./Messages";
import type { Actor, Detail } from "./wire";

interface Props {
  id: string;
  /** The row as the table has it, if it is there. */
  live: Actor | undefined;
  now: number;
  close: () => void;
  /** An operator did something; the words are for who does not see it. */
  done: (what: string) => void;
}

/** What the row does not show is asked for again so often, while somebody looks. */
const AGAIN = 2_000;

export function Drawer({ id, live, now, close, done }: Props) {
  const [detail, setDetail] = useState<Detail | null>(null);
  const [read, setRead] = useState<Detail | null>(null);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const said = useRef<HTMLHeadingElement>(null);

  const load = async (): Promise<void> => {
    try {
      setDetail(await admin.detail(id));
    } catch (error) {
      // What was there a moment ago is shown on: the next look may go better.
      if (detail === null || (error instanceof ApiError && error.status === 404)) setTrouble(wordsFor(error));
    }
  };
  useEffect(() => {
    const opener = document.activeElement;
    heading.current?.focus();
    void load();
    const again = setInterval(() => document.visibilityState === "visible" && void load(), AGAIN);
    // Wherever the focus is: a button that was pressed may be gone.
    const escape = (event: KeyboardEvent): void => {
      if (event.key === "Escape") close();
    };
    addEventListener("keydown", escape);
    return () => {
      clearInterval(again);
      removeEventListener("keydown", escape);
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);

  const reveal = async (): Promise<void> => {
    if (!confirm("Read what was said in this conversation? That you did is written to the audit log.")) return;
    try {
      setRead(await admin.detailWithText(id));
      said.current?.focus();
      done("What was said is shown; the audit log has it.");
    } catch (error) {
      setTrouble(wordsFor(error));
    }
  };

  // The row is told as it changes, the detail is asked for now and then.
  const actor = live ?? detail;
  return (
    <aside class="drawer-panel" aria-labelledby="drawer-title" data-testid="drawer">
      <header>
        <h2 id="drawer-title" ref={heading} tabIndex={-1}>
          {actor && <StateWord state={actor.state} />} <code>{id}</code>
        </h2>
        <button type="button" class="quiet" aria-label="Close" onClick={close}>
          ×
        </button>
      </header>
      {trouble && <TroubleLine trouble={trouble} dismiss={() => setTrouble(null)} />}
      {actor && (
        <Actions
          actor={actor}
          failed={setTrouble}
          done={(what) => {
            done(what);
            // The button may not apply any more, and a disabled one loses the focus.
            heading.current?.focus();
            void load();
          }}
        />
      )}
      {detail && actor && <Fields actor={actor} detail={detail} now={now} />}
      {detail && (
        <Messages messages={read?.messages ?? detail.messages} title={read?.conversation.title} heading={said}>
          {read ? (
            <p class="small">
              As it was when you asked.{" "}
              <button type="button" class="link" onClick={() => void reveal()}>
                Ask again (audited)
              </button>
            </p>
          ) : (
            <button type="button" onClick={() => void reveal()}>
              Show what was said (audited)
            </button>
          )}
        </Messages>
      )}
    </aside>
  );
}
