// Decides between signed out and signed in; nothing else of the page runs before that is known.

import { useEffect, useState } from "preact/hooks";
import { api, ApiError, onSignedOut, wordsFor } from "../api";
import type { Me } from "../wire";
import { Village } from "./Village";
import { SignIn } from "./SignIn";
import { TroubleLine } from "./TroubleLine";

type Who = { state: "asking" } | { state: "nobody" } | { state: "known"; me: Me } | { state: "unreachable"; error: unknown };

export function App() {
  const [who, setWho] = useState<Who>({ state: "asking" });

  const ask = async (): Promise<void> => {
    try {
      setWho({ state: "known", me: await api.me() });
    } catch (error) {
      const nobody = error instanceof ApiError && error.status === 401;
      setWho(nobody ? { state: "nobody" } : { state: "unreachable", error });
    }
  };
  useEffect(() => {
    void ask();
    return onSignedOut(() => setWho({ state: "nobody" }));
  }, []);

  switch (who.state) {
    case "asking":
      return <p class="alone" role="status" />;
    case "nobody":
      return <SignIn done={ask} />;
    case "known":
      return <Village key={who.me.id} me={who.me} />;
    case "unreachable":
      return (
        <main class="alone">
          <TroubleLine trouble={wordsFor(who.error)} />
          <button type="button" onClick={() => void ask()}>
            Try again
          </button>
        </main>
      );
  }
}
