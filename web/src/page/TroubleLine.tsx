import type { Trouble } from "../chat";

/** What went wrong, in words and with the code that the documentation lists. */
export function TroubleLine({ trouble, dismiss }: { trouble: Trouble; dismiss?: () => void }) {
  return (
    <div class="trouble" role="alert" data-testid="trouble">
      <span>
        {trouble.message} {trouble.code && <code>{trouble.code}</code>}
      </span>
      {dismiss && (
        <button type="button" class="quiet" aria-label="Dismiss" onClick={dismiss}>
          ×
        </button>
      )}
    </div>
  );
}
