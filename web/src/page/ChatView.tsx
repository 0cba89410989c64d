// One Conversation: its messages, the newest at the bottom, and the composer.

import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { Chat } from "../chat";
import type { Entry } from "../fold";
import { paced } from "../pace";
import { awaiting } from "../parts";
import type { Npc, OnBusy } from "../wire";
import { Announcer } from "./Announcer";
import { Composer } from "./Composer";
import { EditView } from "./EditView";
import type { Onward } from "./GoOn";
import { exposeTranscript } from "./hook";
import { NO_ACTIONS, type Actions, type Commands } from "./MessageActions";
import { MessageView, PendingView } from "./MessageView";
import { Paused } from "./Paused";
import { Told } from "./Told";
import { TroubleLine } from "./TroubleLine";
import { useStickToEnd } from "./useStickToEnd";
import { WhileWriting } from "./WhileWriting";

const NOBODY: readonly Npc[] = [];

interface Props {
  id: string;
  /** The first message of a new Conversation, to be sent once it is open. */
  initial: string | null;
  initialTaken: () => void;
  stamped: (title: string | null, updatedAt: string) => void;
  /** Who takes part. */
  party: readonly Npc[];
  /** Everybody who could: of who has left, the sign is still known. */
  npcs: readonly Npc[];
}

export function ChatView({ id, initial, initialTaken, stamped, party, npcs }: Props) {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const [draft, setDraft] = useState("");
  /** The Message whose text is being changed, as it was and as it is now. */
  const [editing, setEditing] = useState<{ id: string; was: string; text: string } | null>(null);
  /** The reply of which it is shown what was told for it. */
  const [told, setTold] = useState<string | null>(null);
  /** Counts what has closed under the Player's hands: typing goes on in the composer. */
  const [closed, close] = useReducer((count: number) => count + 1, 0);
  const tell = useRef(stamped);
  tell.current = stamped;
  const chat = useMemo(
    () =>
      new Chat(id, {
        changed: paced(() => draw(undefined as never)),
        // What has been typed since stays, behind what comes back.
        returned: (text) => setDraft((typed) => (typed === "" || typed === text ? text : `${text}\n${typed}`)),
        arrived: (text) => setDraft((typed) => (typed === text ? "" : typed)),
        stamped: (title, at) => tell.current(title, at),
      }),
    [id],
  );

  useEffect(() => {
    const hide = exposeTranscript(chat);
    void chat.open().then(() => {
      if (initial === null) return;
      initialTaken();
      if (chat.stage === "ready") void chat.send(initial, "enqueue");
      else setDraft(initial);
    });
    return () => {
      hide();
      chat.close();
    };
  }, [chat]);

  const commands = useMemo<Commands>(
    () => ({
      regenerate: () => void chat.regenerate(),
      edit: (id) => {
        const entry = chat.transcript.entries.find((one) => one.id === id);
        const text = entry ? wordsOf(entry) || chat.textOf(entry) : "";
        setEditing({ id, was: text, text });
      },
      withdraw: (id) => {
        close(undefined as never);
        void chat.withdraw(id);
      },
      told: setTold,
      goOn: (hops) => chat.goOn(hops),
      decide: (decision) => chat.decide(decision),
      look: (id) => void chat.variants.look(id),
      turn(id, step) {
        this.turned = { id: chat.variants.neighbour(id, step), step };
        void chat.turn(id, step);
      },
      turned: null,
    }),
    [chat],
  );

  const signs = useMemo(() => new Map(npcs.map((npc) => [npc.id, npc.avatar])), [npcs]);
  const { entries } = chat.transcript;
  const { running, idle, said, waiting } = chat;
  const { pending } = chat.outbox;
  const end = useStickToEnd();

  const stopEditing = (): void => {
    setEditing(null);
    close(undefined as never);
  };
  // What is being edited has left the transcript: the new words stay, where something else can be made of them.
  const lost = editing !== null && chat.stage === "ready" && !entries.some((entry) => entry.id === editing.id);
  useEffect(() => {
    if (!lost) return;
    if (editing.text !== editing.was) setDraft((typed) => (typed === "" ? editing.text : `${editing.text}\n${typed}`));
    stopEditing();
  }, [lost]);

  const send = (text: string, onBusy: OnBusy): void => {
    setDraft("");
    end.stick();
    void chat.send(text, onBusy);
  };
  const save = async (id: string, text: string): Promise<void> => {
    if (await chat.edit(id, text)) stopEditing();
  };
  const older = async (): Promise<void> => {
    const keep = end.holdPlace();
    await chat.loadOlder();
    keep();
  };

  if (chat.stage === "gone") return <p class="column empty" role="alert">This conversation is gone. It was deleted, or it never was yours.</p>;
  if (chat.stage === "failed") {
    return (
      <div class="column empty">
        {chat.trouble && <TroubleLine trouble={chat.trouble} />}
        <button type="button" onClick={() => void chat.open()}>
          Try again
        </button>
      </div>
    );
  }

  const last = said.at(-1);
  const nameOf = (id: string): string => entries.find((entry) => entry.id === id)?.author.name ?? "the NPC";
  const leaving = running?.supersedes;
  const message = (entry: Entry) => {
    const waits = entry.status === "queued";
    if (entry.id === editing?.id) {
      return (
        <EditView
          key={entry.id}
          text={editing.text}
          change={(text) => setEditing({ ...editing, text })}
          save={(text) => void save(entry.id, text)}
          cancel={stopEditing}
          waits={waits}
          busy={!waits && !idle}
        />
      );
    }
    const place = chat.variants.place(entry.id);
    const actions: Actions = {
      ...NO_ACTIONS,
      regenerate: idle && entry === last && entry.role === "npc",
      edit: entry.role === "player" && (waits || idle),
      withdraw: waits,
      told: entry.role === "npc",
      onward: idle && waiting.length === 0 && entry === last ? onwardFrom(entry) : "no",
      ...(place && { variants: place.of, variant: place.at, choose: idle }),
    };
    return (
      <MessageView
        key={entry.id}
        entry={entry}
        revision={chat.transcript.revision(entry)}
        fallback={chat.textOf(entry)}
        avatar={signs.get(entry.author.id) ?? null}
        leaving={leaving?.includes(entry.id) ?? false}
        steers={waits && chat.steers(entry)}
        actions={actions}
        commands={commands}
      />
    );
  };

  return (
    <>
      <div class="scroll" ref={end.outer} onScroll={end.scrolled} tabIndex={-1}>
        <div class="column messages" ref={end.inner} aria-busy={!idle} data-testid="messages">
          {chat.older && (
            <button type="button" class="link" onClick={() => void older()}>
              Load earlier messages
            </button>
          )}
          {chat.stage === "ready" && entries.length === 0 && pending.length === 0 && (
            <p class="empty">Nothing has been said yet.</p>
          )}
          {said.map(message)}
          {waiting.length > 0 && (
            <section aria-label="Messages that wait" data-testid="queue">
              {waiting.map(message)}
            </section>
          )}
          {pending.map(({ clientId, text }) => (
            <PendingView key={clientId} text={text} />
          ))}
        </div>
      </div>
      <div class="dock">
        <div class="column">
          {!end.stuck && (
            <button type="button" class="latest" onClick={end.stick}>
              ↓ Latest
            </button>
          )}
          {!chat.connected && <p class="small" role="status">Connection lost. Connecting again …</p>}
          {chat.aside && <TroubleLine trouble={chat.aside} />}
          {chat.trouble && <TroubleLine trouble={chat.trouble} dismiss={() => chat.dismiss()} />}
          {waiting.length > 0 && idle && <Paused waiting={waiting.length} resume={() => chat.resume()} />}
          <Composer
            draft={draft}
            change={setDraft}
            send={(text) => send(text, "enqueue")}
            hint="Message"
            label={!running ? "Send" : draft === "" ? null : "Queue"}
            busy={chat.stage !== "ready"}
            party={party.length > 1 ? party : NOBODY}
            focus={closed}
            beside={
              running && (
                <button type="button" class="stop" disabled={chat.stopping} onClick={() => void chat.stop()}>
                  Stop
                </button>
              )
            }
          >
            {running && (
              <WhileWriting doing={doing(running)} ready={draft.trim() !== ""} say={(onBusy) => send(draft, onBusy)} />
            )}
          </Composer>
        </div>
      </div>
      {told !== null && <Told messageId={told} name={nameOf(told)} close={() => setTold(null)} />}
      <Announcer entries={entries} waiting={waiting.length} />
    </>
  );
}

function doing({ author, parts }: Entry): string {
  return `${author.name} ${awaiting(parts) ? "waits for your word" : "is writing"}`;
}

/** A reply that did not come to its end can go on; one that was kept from handing over needs leave for that. */
function onwardFrom({ role, status, error }: Entry): Onward {
  if (role !== "npc") return "no";
  if (error?.code === "HOP_LIMIT") return "hops";
  return status === "aborted" || status === "interrupted" || status === "failed" ? "on" : "no";
}

function wordsOf(entry: Entry): string {
  return entry.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
