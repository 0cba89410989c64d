import type { ComponentChildren } from "preact";
import type { Actor, Detail } from "./wire";
import { age, bytes, counted, moment, phaseOf } from "./words";

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
        {counted(actor.history.messages, "message")}, about {counted(actor.history.tokens, "token")}
      </Field>
      <Field name="Summary">{summary ? `messages ${summary.from} to ${summary.to}` : "none"}</Field>
      <Field name="Restarts">
        {restarts.total === 0 ? "none" : `${restarts.total}, ${restarts.recent} of them in the last minute`}
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
        {counted(detail.conversation.messages, "message")} up to {detail.conversation.lastSeq}, since{" "}
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
