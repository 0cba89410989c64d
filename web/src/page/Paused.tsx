import { useEffect, useState } from "preact/hooks";
import { counted } from "./Announcer";

/** Between two turns of a queue nothing runs either, for a moment. */
const MOMENT = 400;

/** Said while nothing runs and something waits: it goes on when somebody says so. */
export function Paused({ waiting, resume }: { waiting: number; resume: () => Promise<void> }) {
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), MOMENT);
    return () => clearTimeout(timer);
  }, []);
  // The place is there before the words, so that a screen reader hears them come.
  return (
    <div role="status">
      {shown && (
        <div class="paused" data-testid="paused">
          <span>{counted(waiting)}: the queue is paused.</span>
          <button
            type="button"
            disabled={busy}
            onClick={() => {
              setBusy(true);
              void resume().then(() => setBusy(false));
            }}
          >
            Go on
          </button>
        </div>
      )}
    </div>
  );
}
