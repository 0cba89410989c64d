// What can be done with a Message where it stands.

import { useEffect } from "preact/hooks";

/** Plain values, so that a Message is drawn again only when one of them is another. */
export interface Actions {
  regenerate: boolean;
  edit: boolean;
  withdraw: boolean;
  /** How many variants there are; less than two is none to choose from. */
  variants: number;
  /** Which of them this is, from 1; null until it is known. */
  variant: number | null;
  /** Another may be chosen now. */
  choose: boolean;
}

export const NO_ACTIONS: Actions = { regenerate: false, edit: false, withdraw: false, variants: 1, variant: null, choose: false };

/** Made once for a Conversation. */
export interface Commands {
  regenerate(): void;
  edit(id: string): void;
  withdraw(id: string): void;
  /** Asks which variant this is. */
  look(id: string): void;
  turn(id: string, step: number): void;
}

export function MessageActions({ id, actions, commands }: { id: string; actions: Actions; commands: Commands }) {
  const { regenerate, edit, withdraw, variants } = actions;
  if (!regenerate && !edit && !withdraw && variants < 2) return null;
  return (
    <div class="actions">
      {variants > 1 && <VariantSwitch id={id} actions={actions} commands={commands} />}
      {edit && (
        <button type="button" class="quiet" onClick={() => commands.edit(id)}>
          <span aria-hidden="true">✎ </span>Edit
        </button>
      )}
      {withdraw && (
        <button type="button" class="quiet" onClick={() => commands.withdraw(id)}>
          Withdraw
        </button>
      )}
      {regenerate && (
        <button type="button" class="quiet" onClick={() => commands.regenerate()}>
          Regenerate
        </button>
      )}
    </div>
  );
}

function VariantSwitch({ id, actions, commands }: { id: string; actions: Actions; commands: Commands }) {
  const { variant, variants, choose } = actions;
  useEffect(() => {
    if (variant === null) commands.look(id);
  }, [id, variant, variants]);

  const step = (by: number, label: string, sign: string) => (
    <button
      type="button"
      class="quiet"
      aria-label={label}
      disabled={!choose || variant === null || variant + by < 1 || variant + by > variants}
      onClick={() => commands.turn(id, by)}
    >
      {sign}
    </button>
  );
  return (
    <span class="variants" role="group" aria-label="Variants" data-testid="variants">
      {step(-1, "Earlier variant", "‹")}
      <span>
        <span class="offscreen">Variant </span>
        {variant ?? "–"}/{variants}
      </span>
      {step(1, "Later variant", "›")}
    </span>
  );
}
