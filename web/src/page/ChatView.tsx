// One Conversation: its messages, the newest at the bottom, and the composer.

import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { Chat } from "../chat";
import { paced } from "../pace";
import { Announcer } from "./Announcer";
import { Composer } from "./Composer";
import { exposeTranscript } from "./hook";
import { MessageView, PendingView } from "./MessageView";
import { TroubleLine } from "./TroubleLine";
import { useStickToEnd } from "./useStickToEnd";

interface Props {
  id: string;
  /** The first message of a new Conversation, to be sent once it is open. */
  initial: string | null;
  initialTaken: () => void;
  stamped: (title: string | null, updatedAt: string) => void;
}

export function ChatView({ id, initial, initialTaken, stamped }: Props) {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const [draft, setDraft] = useState("");
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
      if (chat.stage === "ready") void chat.send(initial);
      else setDraft(initial);
    });
    return () => {
      hide();
      chat.close();
    };
  }, [chat]);

  const { entries } = chat.transcript;
  const { running } = chat;
  const end = useStickToEnd();

  const send = (text: string): void => {
    setDraft("");
    end.stick();
    void chat.send(text);
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

  const idle = !running && chat.pending.length === 0;
  const last = entries.at(-1);
  const leaving = running?.supersedes;
  return (
    <>
      <div class="scroll" ref={end.outer} onScroll={end.scrolled} tabIndex={-1}>
        <div class="column messages" ref={end.inner} aria-busy={!idle} data-testid="messages">
          {chat.older && (
            <button type="button" class="link" onClick={() => void older()}>
              Load earlier messages
            </button>
          )}
          {chat.stage === "ready" && entries.length === 0 && chat.pending.length === 0 && (
            <p class="empty">Nothing has been said yet.</p>
          )}
          {entries.map((entry) => (
            <MessageView
              key={entry.id}
              entry={entry}
              revision={chat.transcript.revision(entry)}
              fallback={chat.textOf(entry)}
              leaving={leaving?.includes(entry.id) ?? false}
              regenerate={idle && entry === last && entry.role === "npc" ? () => void chat.regenerate() : null}
            />
          ))}
          {chat.pending.map((pending) => (
            <PendingView key={pending.clientId} text={pending.text} />
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
          {chat.storeTrouble && <TroubleLine trouble={{ message: chat.storeTrouble, code: "STORE_UNAVAILABLE" }} />}
          {chat.trouble && <TroubleLine trouble={chat.trouble} dismiss={() => chat.dismiss()} />}
          <Composer draft={draft} change={setDraft} send={send} hint="Message" busy={chat.stage !== "ready"}>
            {running && (
              <button type="button" class="stop" disabled={chat.stopping} onClick={() => void chat.stop()}>
                Stop
              </button>
            )}
          </Composer>
        </div>
      </div>
      <Announcer entries={entries} />
    </>
  );
}
