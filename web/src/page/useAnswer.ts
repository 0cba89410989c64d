import { useEffect, useState } from "preact/hooks";
import { wordsFor } from "../api";
import type { Trouble } from "../chat";

export interface Answer<T> {
  /** Null until it is there; what was there stays while it is asked for again. */
  value: T | null;
  trouble: Trouble | null;
  set: (value: T) => void;
  again: () => void;
}

/** Asks the server, and again whenever `about` is another. An answer that comes after the next question is dropped. */
export function useAnswer<T>(ask: () => Promise<T>, about: readonly unknown[]): Answer<T> {
  const [value, set] = useState<T | null>(null);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [count, setCount] = useState(0);
  useEffect(() => {
    let late = false;
    ask().then(
      (answer) => {
        if (late) return;
        set(answer);
        setTrouble(null);
      },
      (error: unknown) => late || setTrouble(wordsFor(error)),
    );
    return () => {
      late = true;
    };
  }, [...about, count]);
  return { value, trouble, set, again: () => setCount((asked) => asked + 1) };
}
