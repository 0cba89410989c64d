// A Message of the Player's while its text is changed.

import { Composer } from "./Composer";

interface Props {
  text: string;
  change: (text: string) => void;
  save: (text: string) => void;
  cancel: () => void;
  /** It waits: the text is changed in place. Else all behind it leaves, and the new text is answered. */
  waits: boolean;
  /** It can't be saved now. */
  busy: boolean;
}

export function EditView({ text, change, save, cancel, waits, busy }: Props) {
  return (
    <div
      class="message editing"
      data-role="player"
      data-testid="editing"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.stopPropagation();
        cancel();
      }}
    >
      <Composer
        draft={text}
        change={change}
        send={save}
        hint="Edit message"
        label="Save"
        busy={busy}
        beside={
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        }
      >
        {!waits && (
          <p class="small">
            {busy ? "Once nothing is being written, this" : "This"} is said instead, and answered anew. What stands behind it
            is kept as a variant.
          </p>
        )}
      </Composer>
    </div>
  );
}
