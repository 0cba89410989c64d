// Who is here decides what is shown: the way in, a refusal, or the actors.

import { useEffect, useState } from "preact/hooks";
import { api, ApiError, onSignedOut, wordsFor } from "../api";
import { SignIn } from "../page/SignIn";
import { TroubleLine } from "../page/TroubleLine";
import type { Me } from "../wire";
import { Console } from "./Console";

type Who = { state: "asking" } | { state: "nobody" } | { state: "known"; me: Me } | { state: "unreachable"; error: unknown };

export function AdminApp() {
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
      if (who.me.role === "admin") return <Console key={who.me.id} me={who.me} />;
      return (
        <main class="alone">
          <TroubleLine trouble={{ message: "This page is for admins.", code: "FORBIDDEN" }} />
          <a class="button" href="/">
            Back to the Village
          </a>
        </main>
      );
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
