// Says who answers in this Village. The rehearsal Provider is no language model, and a first visitor must not take it for
// one: so it is said plainly, with the ways to something better.

import { useEffect, useState } from "preact/hooks";
import { api } from "../api";
import type { Provider } from "../wire";
import { AddProvider } from "./AddProvider";

interface Answerer {
  provider: Provider;
  model: string | null;
}

export function ProviderNotice({ admin }: { admin: boolean }) {
  const [answerer, setAnswerer] = useState<Answerer | null>(null);

  const ask = async (): Promise<void> => {
    try {
      const [providers, settings] = await Promise.all([api.providers(), api.settings()]);
      const provider = providers.items.find((one) => one.id === settings.defaultProviderId.value);
      setAnswerer(provider ? { provider, model: settings.defaultModel.value } : null);
    } catch {
      // Not every Player may read the settings; then there is nothing to tell.
      setAnswerer(null);
    }
  };
  useEffect(() => void ask(), []);

  if (!answerer) return null;
  const { provider, model } = answerer;
  if (provider.kind !== "rehearsal") {
    return (
      <p class="small" data-testid="answerer">
        Answers come from {provider.name}
        {model && (
          <>
            , model <code>{model}</code>
          </>
        )}
        .
      </p>
    );
  }
  return (
    <section class="card rehearsal" data-testid="rehearsal-notice">
      <h2>This is a rehearsal</h2>
      <p>
        The answers come from the built-in, offline rehearsal Provider. <strong>It is no language model</strong>: it
        streams prepared replies, so that everything here can be tried without a key.
      </p>
      <details>
        <summary>How to let a real model answer</summary>
        <ul>
          <li>
            Set <code>OPENAI_API_KEY</code> (and <code>OPENAI_BASE_URL</code> for another compatible service) and start
            Hamlet again.
          </li>
          <li>
            Start Ollama or LM Studio on this machine, then Hamlet: what it finds running is offered by itself.
          </li>
          <li>
            Through the API, with an admin's token from <code>hamlet token</code>:
            <pre tabIndex={0}>{curl()}</pre>
          </li>
        </ul>
        {admin && <AddProvider added={ask} />}
      </details>
    </section>
  );
}

function curl(): string {
  return [
    `curl ${location.origin}/api/providers \\`,
    `  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\`,
    `  -d '{"name":"mine","kind":"openai-chat","baseUrl":"https://api.openai.com/v1","apiKey":"sk-..."}'`,
  ].join("\n");
}
