import { useState } from "preact/hooks";

/** `hops`: hand-overs are what it takes to go on, so many of them as the Player says. */
export type Onward = "no" | "on" | "hops";

const FEW = 6;
/** The server takes no more at once. */
const MOST = 100;

/** The way on behind a reply that did not come to its end. */
export function GoOn({ onward, goOn }: { onward: Onward; goOn: (hops: number | null) => void }) {
  const [hops, setHops] = useState(FEW);
  if (onward === "no") return null;
  if (onward === "on") {
    return (
      <button type="button" class="quiet" onClick={() => goOn(null)}>
        Go on
      </button>
    );
  }
  return (
    <form
      class="hops"
      onSubmit={(event) => {
        event.preventDefault();
        goOn(hops);
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
      <button type="submit">Allow more hand-overs</button>
    </form>
  );
}
