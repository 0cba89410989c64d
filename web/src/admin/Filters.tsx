// How many actors are in each state; a state that is pressed is what is looked at.

import { useEffect, useState } from "preact/hooks";
import type { Wanted } from "./api";
import { STATES, type Counts } from "./wire";

interface Props {
  wanted: Wanted;
  counts: Counts | null;
  change: (change: Partial<Wanted>) => void;
}

/** While somebody types nothing is asked for. */
const TYPING = 400;

export function Filters({ wanted, counts, change }: Props) {
  const [player, setPlayer] = useState(wanted.player);
  useEffect(() => {
    if (player.trim() === wanted.player) return;
    const waiting = setTimeout(() => change({ player: player.trim() }), TYPING);
    return () => clearTimeout(waiting);
  }, [player]);

  const toggle = (state: string): void =>
    change({
      states: wanted.states.includes(state)
        ? wanted.states.filter((other) => other !== state)
        : [...wanted.states, state],
    });

  return (
    <div class="filters">
      <div class="counts" role="group" aria-label="States">
        <button type="button" aria-pressed={wanted.states.length === 0} onClick={() => change({ states: [] })}>
          <strong>{counts?.total ?? "–"}</strong> all
        </button>
        {STATES.map((state) => (
          <button
            key={state}
            type="button"
            aria-pressed={wanted.states.includes(state)}
            data-testid={`count-${state}`}
            onClick={() => toggle(state)}
          >
            <strong>{counts?.states[state] ?? "–"}</strong> <StateWord state={state} />
          </button>
        ))}
      </div>
      <label class="player">
        <span>Player</span>
        <input
          type="search"
          placeholder="name or id"
          value={player}
          onInput={(event) => setPlayer(event.currentTarget.value)}
        />
      </label>
    </div>
  );
}

/** A state as colour and word: neither alone has to be understood. */
export function StateWord({ state }: { state: string }) {
  return (
    <span class="state" data-state={state}>
      {state}
    </span>
  );
}
