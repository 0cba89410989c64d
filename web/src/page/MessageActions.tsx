// What can be done with a Message where it stands.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Decide } from "./Approval";
import type { Onward } from "./GoOn";

/** Plain values, so that a Message is drawn again only when one of them is another. */
export interface Actions {
  regenerate: boolean;
  edit: boolean;
  withdraw: boolean;
  /** What it was told can be shown. */
  told: boolean;
  /** Whether, and how, it goes on behind this Message. */
  onward: Onward;
  /** How many variants there are; less than two is none to choose from. */
  variants: number;
  /** Which of them this is, from 1; null until it is known. */
  variant: number | null;
  /** Another may be chosen now. */
  choose: boolean;
}

export const NO_ACTIONS: Actions = {
  regenerate: false,
  edit: false,
  withdraw: false,
  told: false,
  onward: "no",
  variants: 1,
  variant: null,
  choose: false,
};

/** Made once for a Conversation. */
export interface Commands {
  regenerate(): void;
  edit(id: string): void;
  withdraw(id: string): void;
  told(id: string): void;
  goOn(hops: number | null): Promise<void>;
  /** Says whether a call that waits for it may run. */
  decide: Decide;
  /** Asks which variant this is. */
  look(id: string): void;
  turn(id: string, step: number): void;
  /** The variant that was turned to and in which direction: the same button waits there for who turns on. */
  turned: { id: string | null; step: number } | null;
}

export function MessageActions({ id, actions, commands }: { id: string; actions: Actions; commands: Commands }) {
  const { regenerate, edit, withdraw, told, variants } = actions;
  return (
    <>
      {variants > 1 && <VariantSwitch id={id} actions={actions} commands={commands} />}
      {edit && (
        <button type="button" class={withdraw ? "quiet" : "quiet pencil"} aria-label="Edit" onClick={() => commands.edit(id)}>
          {withdraw ? "Edit" : "✎"}
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
      {told && (
        <button type="button" class="quiet told" onClick={() => commands.told(id)}>
          What it was told
        </button>
      )}
    </>
  );
}

function VariantSwitch({ id, actions, commands }: { id: string; actions: Actions; commands: Commands }) {
  const { variant, variants, choose } = actions;
  const group = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (variant === null) commands.look(id);
  }, [id, variant, variants]);
  // With the drawing, not after it: a key that is pressed as soon as the number is seen finds the button.
  useLayoutEffect(() => {
    if (commands.turned?.id !== id || variant === null || !choose) return;
    const buttons = [...(group.current?.querySelectorAll("button") ?? [])];
    const wanted = commands.turned.step < 0 ? buttons : buttons.reverse();
    wanted.find((button) => !button.disabled)?.focus();
    commands.turned = null;
  }, [id, variant, choose]);

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
    <span ref={group} class="variants" role="group" aria-label="Variants" data-testid="variants">
      {step(-1, "Earlier variant", "‹")}
      <span>
        <span class="offscreen">Variant </span>
        {variant ?? "–"}/{variants}
      </span>
      {step(1, "Later variant", "›")}
    </span>
  );
}
