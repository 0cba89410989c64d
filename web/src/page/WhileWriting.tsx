import type { OnBusy } from "../wire";

/** What becomes of a text that is sent while a reply is being written. */
export function WhileWriting({ doing, ready, say }: { doing: string; ready: boolean; say: (onBusy: OnBusy) => void }) {
  return (
    <p class="small while-writing">
      <span>{doing}. Enter puts your message in the queue.</span>
      {ready && (
        <span class="ways">
          <button type="button" class="link" onClick={() => say("interrupt")}>
            Stop and say this now
          </button>
          <button type="button" class="link" onClick={() => say("steer")}>
            Say it at the next step
          </button>
        </span>
      )}
    </p>
  );
}
