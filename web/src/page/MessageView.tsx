import { Component } from "preact";
import { sentence } from "../api";
import type { Entry } from "../fold";
import { Markdown } from "../markdown/Markdown";
import { drawnParts } from "../parts";
import { Avatar } from "./Avatar";
import { GoOn } from "./GoOn";
import { MessageActions, type Actions, type Commands } from "./MessageActions";
import { PartView } from "./PartView";

interface Props {
  entry: Entry;
  /** The entry is changed in place; this tells whether it was. */
  revision: number;
  /** The text of a Message that has no Parts. */
  fallback: string;
  /** Of who wrote it, where it is known. */
  avatar: string | null;
  /** Another Message that takes this one's place has begun. */
  leaving: boolean;
  /** It waits for the next step of the running turn. */
  steers: boolean;
  actions: Actions;
  commands: Commands;
}

export class MessageView extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    const { actions, ...now } = this.props;
    return !same(now, { ...next, actions: undefined }) || !same(actions, next.actions);
  }

  override render({ entry, fallback, avatar, leaving, steers, actions, commands }: Props) {
    const { error, status, role } = entry;
    const ending = status === "queued" && steers ? "Waits for the next step" : ENDINGS[status];
    return (
      <article
        class={leaving ? "message leaving" : "message"}
        data-message-id={entry.id}
        data-role={role}
        data-status={status}
        aria-label={`${entry.author.name} ${status === "queued" ? "will say" : "wrote"}`}
      >
        {role === "npc" && (
          <div class="author">
            <Avatar name={entry.author.name} avatar={avatar} /> {entry.author.name}
          </div>
        )}
        <div class="body">
          {drawnParts(entry.parts).map((drawn) => (
            <PartView key={drawn.index} drawn={drawn} entry={entry} decide={commands.decide} />
          ))}
          {entry.parts.length === 0 && fallback !== "" && <Text role={role} text={fallback} />}
          {role === "npc" && status === "running" && entry.parts.length === 0 && (
            <span class="waiting" aria-hidden="true">
              <i />
              <i />
              <i />
            </span>
          )}
        </div>
        {error && (
          <p class="failure" data-testid="error">
            {sentence(error.message)} <code>{error.code}</code>
          </p>
        )}
        <div class="foot">
          {ending && (!error || status !== "failed") && <p class="ending">{ending}</p>}
          <GoOn onward={actions.onward} goOn={commands.goOn} />
          <MessageActions id={entry.id} actions={actions} commands={commands} />
        </div>
      </article>
    );
  }
}

function same(one: object, other: object): boolean {
  return Object.entries(other).every(([name, value]) => value === one[name as keyof typeof one]);
}

/** The Player's words as they were typed; an NPC's as Markdown. */
export function Text({ role, text }: { role: Entry["role"]; text: string }) {
  if (role === "npc") return <Markdown text={text} />;
  return (
    <div class="plain" data-testid="text">
      {text}
    </div>
  );
}

/** What the Player has just sent, until the Conversation says that it is there. */
export function PendingView({ text }: { text: string }) {
  return (
    <article class="message pending" data-role="player" data-status="sending" aria-label="Being sent">
      <div class="body">
        <Text role="player" text={text} />
      </div>
    </article>
  );
}

const ENDINGS: Partial<Record<Entry["status"], string>> = {
  queued: "Waits",
  aborted: "Stopped",
  interrupted: "Interrupted when Hamlet stopped",
  failed: "Failed",
};
