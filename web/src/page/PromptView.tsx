// One request to a model, as a person reads it: the sections of its prompt, the tools, and the messages, each with what it
// costs. All of it is text and shown as text.

import type { ComponentChildren } from "preact";
import { readable } from "../parts";
import type { Prompt, PromptMessage } from "../wire/insight";

/** More messages than a screen needs at once are folded away. */
const NEWEST = 40;
/** Text longer than this, in characters, gets a box of its own to scroll in. */
const LONG = 3000;

export function PromptView({ prompt }: { prompt: Prompt }) {
  const { tokens, sections, tools, messages } = prompt;
  const older = messages.slice(0, -NEWEST);
  return (
    <div class="prompt" data-testid="prompt">
      <p class="small">
        Model <code>{prompt.model}</code>, about {tokens.total.toLocaleString("en")} tokens
        {prompt.summaryVersion !== null && `, with version ${prompt.summaryVersion} of the summary`}.
      </p>
      <Group label="Sections" tokens={tokens.sections}>
        {sections.map((section, index) => (
          <Block key={index} label={title(section.place)} tokens={section.tokens} text={section.text} />
        ))}
      </Group>
      {tools.length > 0 && (
        <Group label={`Tools (${tools.length})`} tokens={tokens.tools}>
          {tools.map((tool) => (
            <Block
              key={tool.name}
              label={tool.name}
              tokens={tool.tokens}
              text={`${tool.description}\n\n${readable(tool.parameters)}`}
            />
          ))}
        </Group>
      )}
      <Group label={`Messages (${messages.length})`} tokens={tokens.messages}>
        {older.length > 0 && (
          <details>
            <summary>{older.length} earlier ones</summary>
            {older.map((message, index) => (
              <Said key={index} message={message} />
            ))}
          </details>
        )}
        {messages.slice(-NEWEST).map((message, index) => (
          <Said key={index} message={message} />
        ))}
      </Group>
    </div>
  );
}

function Group({ label, tokens, children }: { label: string; tokens: number; children: ComponentChildren }) {
  return (
    <section>
      <h3>
        {label} <Cost tokens={tokens} />
      </h3>
      {children}
    </section>
  );
}

function Block({ label, tokens, text }: { label: string; tokens: number; text: string }) {
  return (
    <details class="fold" data-testid="prompt-block">
      <summary>
        {label} <Cost tokens={tokens} />
      </summary>
      <pre tabIndex={0}>{text}</pre>
    </details>
  );
}

function Said({ message }: { message: PromptMessage }) {
  const calls = (message.calls ?? []).map((call) => `→ ${call.name} ${call.arguments}`);
  const text = [message.text, ...calls].filter((line) => line !== "").join("\n");
  return (
    <div class="told-message" data-role={message.role}>
      <div class="small">
        {ROLES[message.role]}
        {message.isError && ", an error"} <Cost tokens={message.tokens} />
      </div>
      {text.length > LONG ? (
        <div class="plain long" tabIndex={0}>
          {text}
        </div>
      ) : (
        <div class="plain">{text}</div>
      )}
    </div>
  );
}

function Cost({ tokens }: { tokens: number }) {
  return <span class="cost">~{tokens.toLocaleString("en")} tokens</span>;
}

const ROLES: Record<PromptMessage["role"], string> = { user: "User", assistant: "The model", tool: "Result of a tool" };

function title(place: string): string {
  return place.charAt(0).toUpperCase() + place.slice(1);
}
