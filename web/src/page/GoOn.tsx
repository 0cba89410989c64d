import { useState } from "preact/hooks";

/** `hops`: hand-overs are what it takes to go on, so many of them as the Player says. */
export type Onward = "no" | "on" | "hops";

const FEW = 6;
/** The server takes no more at once. */
const MOST = 100;

/** The way on behind a reply that did not come to its end. */
export function GoOn({ onward, goOn }: { onward: Onward; goOn: (hops: number | null) => Promise<void> }) {
  const [hops, setHops] = useState(FEW);
  const [busy, setBusy] = useState(false);
  const go = async (allowed: number | null): Promise<void> => {
    setBusy(true);
    await goOn(allowed);
    setBusy(false);
  };
  if (onward === "no") return null;
  if (onward === "on") {
    return (
      <button type="button" class="quiet" disabled={busy} onClick={() => void go(null)}>
        Go on
      </button>
    );
  }
  return (
    <form
      class="hops"
      onSubmit={(event) => {
        event.preventDefault();
        void go(hops);
      }}
    >
      <input
        type="number"
        min={1}
        max={MOST}
        required
        value={hops}
        aria-label="More hand-overs"
        onInput={(event) => setHops(event.currentTarget.valueAsNumber)}
      />
      <button type="submit" disabled={busy}>
        Allow more hand-overs
      </button>
    </form>
  );
}
