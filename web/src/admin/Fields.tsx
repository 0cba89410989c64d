import type { ComponentChildren } from "preact";
import type { Actor, Detail } from "./wire";
import { age, bytes, moment, phaseOf } from "./words";

export function Fields({ actor, detail, now }: { actor: Actor; detail: Detail; now: number }) {
  const { turn, mailbox, watchers, summary, lastError, restarts } = actor;
  const [worst] = watchers.lags;
  return (
    <dl class="fields">
      <Field name="Player">{actor.player?.name ?? "–"}</Field>
      <Field name="Turn">{turn ? <code>{turn.id}</code> : "none"}</Field>
      {turn && <Field name="Running for">{age(now - Date.parse(turn.since))}</Field>}
      {turn && <Field name="Phase">{phaseOf(actor) || "–"}</Field>}
      {turn && <Field name="Speaker">{actor.speaker?.name ?? "–"}</Field>}
      {turn && <Field name="Step">{actor.step}</Field>}
      {turn && (
        <Field name="Hops">
          {actor.hop.count} of {actor.hop.limit}
        </Field>
      )}
      <Field name="Queue">{actor.queue}</Field>
      <Field name="Mailbox">{mailbox ? `${mailbox.depth} of ${mailbox.capacity}` : "nobody is awake"}</Field>
      <Field name="Watchers">
        {watchers.count}
        {worst !== undefined && `; frames behind: ${watchers.lags.join(", ")}`}
      </Field>
      <Field name="Cursor">{actor.cursor ?? "–"}</Field>
      <Field name="Epoch">{actor.epoch ?? "–"}</Field>
      <Field name="Window">
        {actor.history.messages} messages, about {actor.history.tokens} tokens
      </Field>
      <Field name="Summary">{summary ? `messages ${summary.from} to ${summary.to}` : "none"}</Field>
      <Field name="Restarts">
        {restarts.total}, {restarts.recent} of them just now
      </Field>
      <Field name="Last error">
        {lastError ? (
          <>
            <code>{lastError.code}</code> {lastError.message} ({moment(lastError.at)})
          </>
        ) : (
          "none"
        )}
      </Field>
      <Field name="Memory">about {bytes(actor.memoryBytes)}</Field>
      <Field name="Last activity">
        {actor.lastActivity ? `${age(now - Date.parse(actor.lastActivity))} ago` : "–"}
      </Field>
      <Field name="Stored">
        {detail.conversation.messages} messages up to {detail.conversation.lastSeq}, since{" "}
        {moment(detail.conversation.createdAt)}
      </Field>
    </dl>
  );
}

function Field({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
