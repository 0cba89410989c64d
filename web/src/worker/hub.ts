// All tabs of the browser, and what each of them watches. One feed is read for all; a relay for each Conversation sees to
// it that every tab gets what lies behind its own cursor.
//
// A port does not tell when its tab is gone. A tab that is closed says so; one that crashed, or that the browser has put
// to sleep, is noticed by its silence: tabs confirm what they have read and answer a ping. Who does not is let go, and
// told so: a tab that only slept finds that word when it wakes up and watches again from where it is. So nothing piles up
// for it, and nobody waits for it. (Locks of tabs would tell of a crash at once, but exist on https and localhost only.)

import type { ToWorker } from "../stream/words";
import { Feed } from "./feed";
import type { Told } from "./groups";
import { Relay } from "./relay";
import { Tab, Watch, type Port } from "./tab";

const PING = 10_000;
/** So many words may be on their way to a tab. */
const UNHEARD = 128;
/** The server reads no more Conversations in one stream. */
const LIMIT = 100;

export class Hub {
  readonly #tabs = new Set<Tab>();
  readonly #relays = new Map<string, Relay>();
  readonly #feed = new Feed({
    positions: () => new Map([...this.#relays].map(([id, relay]) => [id, relay.head])),
    told: (what) => this.#told(what),
    pause: () => this.#flush(),
    connected: (yes) => {
      for (const tab of this.#tabs) tab.say({ say: "connected", yes });
    },
    signedOut: () => this.#signedOut(),
  });

  constructor() {
    setInterval(() => this.#ping(), PING);
  }

  enter(port: Port): void {
    const tab = new Tab(port);
    this.#tabs.add(tab);
    port.onmessage = ({ data }) => this.#hear(tab, data);
    tab.say({ say: "welcome" });
  }

  #hear(tab: Tab, word: ToWorker): void {
    this.#tabs.add(tab);
    switch (word.say) {
      case "watch":
        this.#watch(tab, word);
        return;
      case "leave":
        this.#leave(tab, word.watch);
        return;
      case "heard":
        tab.heard = word.upTo;
        return;
      case "hurry":
        this.#feed.hurry();
        return;
      case "again":
        this.#feed.again();
        return;
      case "bye":
        this.#leaveAll(tab);
        this.#tabs.delete(tab);
        tab.port.close();
    }
  }

  #watch(tab: Tab, { watch, conversation, cursor, unfinished }: ToWorker & { say: "watch" }): void {
    const known = this.#relays.get(conversation);
    if (!known && this.#relays.size >= LIMIT) {
      tab.say({ say: "alone", watch });
      return;
    }
    const listener = new Watch(conversation, cursor);
    tab.watches.set(watch, listener);
    const relay = known ?? new Relay(cursor, unfinished);
    this.#relays.set(conversation, relay);
    if (relay.join(listener, unfinished) || !known) this.#feed.again();
    tab.say({ say: "connected", yes: this.#feed.connected });
    tab.flush();
  }

  #leave(tab: Tab, watch: number): void {
    const listener = tab.watches.get(watch);
    if (!listener) return;
    tab.watches.delete(watch);
    const relay = this.#relays.get(listener.conversation);
    relay?.leave(listener);
    if (relay?.listeners.size === 0) {
      this.#relays.delete(listener.conversation);
      this.#feed.again();
    }
  }

  #told(what: Told): void {
    const relay = this.#relays.get(what.conversation);
    switch (what.kind) {
      case "group":
        relay?.take(what.group);
        return;
      case "aside":
        relay?.aside(what.frame);
        return;
      case "gone":
      case "stale":
        this.#relays.delete(what.conversation);
        for (const tab of this.#tabs) tab.over(what.conversation, what.kind);
    }
  }

  #flush(): void {
    for (const tab of this.#tabs) {
      tab.flush();
      if (tab.unheard > UNHEARD) this.#letGo(tab);
    }
  }

  #ping(): void {
    for (const tab of this.#tabs) {
      // The ping before this one is still unheard.
      if (tab.pinged > tab.heard) this.#letGo(tab);
      else tab.ping();
    }
  }

  /** Whatever it says brings it back. */
  #letGo(tab: Tab): void {
    this.#leaveAll(tab);
    tab.say({ say: "letGo" });
    this.#tabs.delete(tab);
  }

  #leaveAll(tab: Tab): void {
    for (const watch of [...tab.watches.keys()]) this.#leave(tab, watch);
  }

  #signedOut(): void {
    this.#relays.clear();
    for (const tab of this.#tabs) {
      tab.watches.clear();
      tab.say({ say: "signedOut" });
    }
  }

}
