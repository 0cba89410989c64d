// A panel over the page. The browser keeps the focus inside, closes it with Escape, and gives the focus back.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface Props {
  title: string;
  close: () => void;
  children: ComponentChildren;
}

export function Panel({ title, close, children }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  const heading = useId();
  /** Where the press began: who selects text and lets go beside it, wants to go on. */
  const pressed = useRef<EventTarget | null>(null);
  useEffect(() => {
    const { current } = box;
    current?.showModal();
    return () => current?.close();
  }, []);
  return (
    <dialog
      ref={box}
      class="panel"
      aria-labelledby={heading}
      onClose={close}
      onMouseDown={(event) => {
        pressed.current = event.target;
      }}
      // Beside the panel's content there is its backdrop only.
      onClick={(event) => event.target === box.current && pressed.current === box.current && close()}
    >
      <div class="panel-inner">
        <header>
          <h2 id={heading}>{title}</h2>
          <button type="button" class="quiet" aria-label="Close" onClick={close}>
            ×
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
