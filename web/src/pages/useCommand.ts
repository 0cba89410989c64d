import { useState } from "preact/hooks";
import { wordsFor } from "../api";
import type { Trouble } from "../chat";

/** One command at a time, and what was refused of the last one. */
export function useCommand() {
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  /** Answers whether it was done. */
  const run = async (command: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    setTrouble(null);
    try {
      await command();
      return true;
    } catch (error) {
      setTrouble(wordsFor(error));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, trouble, run, dismiss: () => setTrouble(null) };
}
