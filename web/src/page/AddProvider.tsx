import type { TargetedInputEvent } from "preact";
import { useState } from "preact/hooks";
import { api, wordsFor } from "../api";
import type { Trouble } from "../chat";
import { TroubleLine } from "./TroubleLine";

/** An admin's short way to a Provider with a model of its own, which becomes the Village's default. */
export function AddProvider({ added }: { added: () => Promise<void> }) {
  const [fields, setFields] = useState({ name: "", baseUrl: "https://api.openai.com/v1", apiKey: "", model: "" });
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  /** Made already, when only the settings were refused: another try must not make a second one. */
  const [made, setMade] = useState<string | null>(null);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setTrouble(null);
    try {
      const { name, baseUrl, apiKey, model } = fields;
      const id = made ?? (await api.addProvider({ name, baseUrl, ...(apiKey ? { apiKey } : {}) })).id;
      setMade(id);
      await api.useProvider(id, model);
      await added();
    } catch (error) {
      setTrouble(wordsFor(error));
    }
    setBusy(false);
  };

  const field = (key: keyof typeof fields, label: string, hint = "", optional = false) => {
    const attributes = {
      autoComplete: "off",
      required: !optional,
      placeholder: hint,
      disabled: made !== null && key !== "model",
      value: fields[key],
      onInput: (event: TargetedInputEvent<HTMLInputElement>) => setFields({ ...fields, [key]: event.currentTarget.value }),
    };
    return (
      <label>
        {label}
        {key === "apiKey" ? <input type="password" {...attributes} /> : <input type="text" {...attributes} />}
      </label>
    );
  };

  return (
    <form class="add-provider" onSubmit={(event) => void submit(event)}>
      <h3>Add a Provider</h3>
      {field("name", "Name", "My provider")}
      {field("baseUrl", "Base URL")}
      {field("apiKey", "API key", "none, for a local server", true)}
      {field("model", "Model")}
      {trouble && <TroubleLine trouble={trouble} />}
      <button type="submit" class="primary" disabled={busy}>
        Add and use
      </button>
    </form>
  );
}
