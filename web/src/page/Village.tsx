// The signed-in page: the list of Conversations on the left, one of them (or the way into a new one) on the right.

import { useEffect, useRef, useState } from "preact/hooks";
import { api, wordsFor } from "../api";
import type { Trouble } from "../chat";
import { TITLES } from "../pages/Menu";
import { PageView } from "../pages/PageView";
import { addressOf, goTo, onMove, placeInAddress } from "../place";
import type { Conversation, Listed, Me } from "../wire";
import { About } from "./About";
import { ChatView } from "./ChatView";
import { Home } from "./Home";
import { PartyBar } from "./PartyBar";
import { Sidebar } from "./Sidebar";
import { useConversation } from "./useConversation";

export function Village({ me }: { me: Me }) {
  const [place, setPlace] = useState(placeInAddress);
  const id = place.at === "conversation" ? place.id : null;
  const [list, setList] = useState<Listed[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [drawer, setDrawer] = useState(false);
  const [about, setAbout] = useState(false);
  const open = useConversation(id);
  /** What was typed on the first screen goes out as soon as its Conversation is open. */
  const first = useRef<{ id: string; text: string } | null>(null);

  const load = async (after: string | null): Promise<void> => {
    try {
      const page = await api.conversations(after);
      setList((known) => (after === null ? page.items : merged(known, page.items)));
      setNext(page.next);
      setTrouble(null);
    } catch (error) {
      setTrouble(wordsFor(error));
    }
  };

  useEffect(() => {
    void load(null);
    const stop = onMove(() => {
      setPlace(placeInAddress());
      setDrawer(false);
      setAbout(false);
    });
    // Other tabs and devices begin Conversations too; coming back is the moment to look.
    const seen = (): void => {
      if (document.visibilityState === "visible") void load(null);
    };
    document.addEventListener("visibilitychange", seen);
    return () => {
      stop();
      document.removeEventListener("visibilitychange", seen);
    };
  }, []);

  const title = list.find((one) => one.id === id)?.title ?? open.conversation?.title ?? null;
  const named = place.at === "page" ? TITLES[place.name] : title;
  useEffect(() => {
    document.title = named === null ? "Hamlet" : `${named} · Hamlet`;
  }, [named]);

  const begun = (conversation: Conversation, text: string): void => {
    first.current = { id: conversation.id, text };
    setList((known) => merged([conversation], known));
    goTo(addressOf(conversation.id));
  };

  const stamped = (told: string, title: string | null, updatedAt: string): void =>
    setList((known) => {
      const others = known.filter((one) => one.id !== told);
      return byActivity([...others, { ...known.find((one) => one.id === told), id: told, title, updatedAt }]);
    });

  const changed = (now: Conversation): void => {
    open.changed(now);
    setList((known) => merged([now], known));
  };

  const remove = async (gone: Listed): Promise<void> => {
    try {
      await api.remove(gone.id);
    } catch (error) {
      setTrouble(wordsFor(error));
      return;
    }
    setList((known) => known.filter((one) => one.id !== gone.id));
    if (id === gone.id) goTo("/");
  };

  const initial = first.current && first.current.id === id ? first.current.text : null;
  return (
    <div class={drawer ? "village drawer" : "village"}>
      <Sidebar
        me={me}
        list={list}
        current={place}
        trouble={trouble}
        more={next === null ? null : () => void load(next)}
        remove={(gone) => void remove(gone)}
        close={() => setDrawer(false)}
        drawn={drawer}
      />
      {drawer && <div class="backdrop" onClick={() => setDrawer(false)} />}
      <main>
        <header class="top">
          <button type="button" class="quiet menu" aria-label="Conversations" onClick={() => setDrawer(true)}>
            ☰
          </button>
          <h1>{place.at === "home" ? "New conversation" : (named ?? "Conversation")}</h1>
          {open.conversation && <PartyBar party={open.party} open={() => setAbout(true)} />}
        </header>
        {place.at === "home" && <Home me={me} begun={begun} />}
        {place.at === "page" && <PageView name={place.name} id={place.id} me={me} />}
        {id !== null && (
          <ChatView
            key={id}
            id={id}
            initial={initial}
            initialTaken={() => (first.current = null)}
            stamped={(title, at) => stamped(id, title, at)}
            party={open.party}
            npcs={open.npcs}
          />
        )}
        {about && open.conversation && (
          <About
            conversation={{ ...open.conversation, title }}
            party={open.party}
            npcs={open.npcs}
            changed={changed}
            close={() => setAbout(false)}
          />
        )}
      </main>
    </div>
  );
}

function merged(first: Listed[], then: Listed[]): Listed[] {
  const known = new Set(first.map((one) => one.id));
  return byActivity([...first, ...then.filter((one) => !known.has(one.id))]);
}

function byActivity(list: Listed[]): Listed[] {
  return list.sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0));
}
