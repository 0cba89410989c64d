// Signing in by name and password, or making an account where the Village is open. The one-time link of the terminal
// needs no form: the server signs in whoever follows it.

import { useEffect, useState } from "preact/hooks";
import { api, wordsFor } from "../api";
import type { Trouble } from "../chat";
import { Mark } from "./Mark";
import { TroubleLine } from "./TroubleLine";

export function SignIn({ done }: { done: () => Promise<void> }) {
  const [open, setOpen] = useState(false);
  const [first, setFirst] = useState(false);
  const [expired] = useState(() => new URLSearchParams(location.search).get("sign-in") === "expired");
  const [mode, setMode] = useState<"in" | "up">("in");
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Trouble | null>(null);

  useEffect(() => {
    document.title = "Hamlet";
    // Not knowing whether sign-up is open is no reason to keep anybody from signing in.
    api.signUp.state().then(
      (answer) => {
        setOpen(answer.open);
        setFirst(answer.first === true);
        if (answer.first) setMode("up");
      },
      () => setOpen(false),
    );
    // Said once: a reload is another visit.
    if (location.search !== "") history.replaceState(null, "", location.pathname);
  }, []);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setTrouble(null);
    try {
      if (mode === "up") await api.signUp.make(name, password);
      else await api.signIn(name, password);
      await done();
    } catch (error) {
      setTrouble(wordsFor(error));
      setBusy(false);
    }
  };

  return (
    <main class="alone">
      <h1>
        <Mark /> Hamlet
      </h1>
      <form class="card" onSubmit={(event) => void submit(event)}>
        <h2>{mode === "up" ? "Make an account" : "Sign in"}</h2>
        {mode === "up" && first && <p class="small">The first account is the admin's.</p>}
        {expired && !trouble && (
          <TroubleLine trouble={{ message: "That link is not good any more. Each works once.", code: null }} />
        )}
        <label>
          Name
          <input
            name="name"
            autoComplete="username"
            autoCapitalize="none"
            required
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <label>
          Password
          <input
            name="password"
            type="password"
            autoComplete={mode === "up" ? "new-password" : "current-password"}
            required
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        </label>
        {trouble && <TroubleLine trouble={trouble} />}
        <button type="submit" class="primary" disabled={busy}>
          {mode === "up" ? "Make an account" : "Sign in"}
        </button>
        {open && (
          <button type="button" class="link" onClick={() => setMode(mode === "up" ? "in" : "up")}>
            {mode === "up" ? "I have an account" : "I have no account yet"}
          </button>
        )}
      </form>
      <p class="small">
        On your own machine: the terminal in which Hamlet was started has printed a link that signs you in once. For
        another one run <code>hamlet login-link --player NAME</code>.
      </p>
    </main>
  );
}
