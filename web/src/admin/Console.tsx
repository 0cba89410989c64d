// The operators' page: actors as they change, one of them in a drawer, and what operators did.

import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { paced } from "../pace";
import { Mark } from "../page/Mark";
import type { Me } from "../wire";
import { ActorTable } from "./ActorTable";
import type { Wanted } from "./api";
import { AuditList } from "./AuditList";
import { Board } from "./board";
import { Drawer } from "./Drawer";
import { ActorsFeed } from "./feed";
import { Filters } from "./Filters";

const EVERYBODY: Wanted = { states: [], player: "", after: null };

export function Console({ me }: { me: Me }) {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const [wanted, setWanted] = useState(EVERYBODY);
  /** Cursors of the pages before this one. */
  const [before, setBefore] = useState<(string | null)[]>([]);
  const [connected, setConnected] = useState(true);
  const [open, setOpen] = useState<string | null>(null);
  const [tab, setTab] = useState<"actors" | "audit">("actors");
  const [said, setSaid] = useState("");
  const [deeds, setDeeds] = useState(0);
  const board = useRef(new Board());

  useEffect(() => {
    board.current = new Board();
    const changed = paced(() => draw(undefined as never));
    const feed = new ActorsFeed(wanted, {
      event: (event) => {
        board.current.apply(event, Date.now());
        changed();
      },
      connected: setConnected,
    });
    return () => feed.close();
  }, [wanted]);

  // Ages tick between two events.
  useEffect(() => {
    const ticking = setInterval(() => draw(undefined as never), 1000);
    return () => clearInterval(ticking);
  }, []);

  const filter = (change: Partial<Wanted>): void => {
    setBefore([]);
    setWanted((known) => ({ ...known, ...change, after: null }));
  };
  const turnTo = (after: string | null): void => setWanted((known) => ({ ...known, after }));

  const { rows, counts, next, ahead } = board.current;
  const now = Date.now() + ahead;
  return (
    <div class={open ? "console with-drawer" : "console"}>
      <header class="bar">
        <a class="brand" href="/">
          <Mark /> Hamlet
        </a>
        <nav aria-label="Views">
          <button type="button" aria-pressed={tab === "actors"} onClick={() => setTab("actors")}>
            Actors
          </button>
          <button type="button" aria-pressed={tab === "audit"} onClick={() => setTab("audit")}>
            Audit
          </button>
        </nav>
        <span class="small">{me.name}</span>
      </header>
      <main>
        {!connected && (
          <p class="small" role="status">
            Connection lost. Connecting again …
          </p>
        )}
        {tab === "actors" ? (
          <>
            <h1 class="offscreen">Actors</h1>
            <Filters wanted={wanted} counts={counts} change={filter} />
            <ActorTable
              rows={rows}
              loading={counts === null}
              filtered={wanted.states.length > 0 || wanted.player !== ""}
              now={now}
              open={open}
              choose={setOpen}
            />
            <div class="pages" hidden={before.length === 0 && next === null}>
              <button
                type="button"
                disabled={before.length === 0}
                onClick={() => {
                  turnTo(before.at(-1) ?? null);
                  setBefore(before.slice(0, -1));
                }}
              >
                Newer
              </button>
              <button
                type="button"
                disabled={next === null}
                onClick={() => {
                  setBefore([...before, wanted.after]);
                  turnTo(next);
                }}
              >
                Older
              </button>
            </div>
          </>
        ) : (
          <AuditList key={deeds} choose={setOpen} />
        )}
      </main>
      {open && (
        <Drawer
          key={open}
          id={open}
          live={board.current.row(open)}
          now={now}
          close={() => setOpen(null)}
          done={(what) => {
            setSaid(what);
            setDeeds((count) => count + 1);
          }}
        />
      )}
      <div class="offscreen" aria-live="polite" data-testid="said">
        {said}
      </div>
    </div>
  );
}
