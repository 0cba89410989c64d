// Which Conversation or page the address names, and going to another without loading anything anew. Pages beside the chat
// stand behind a `#`, so that the server needs to know of none.

const moved = new Set<() => void>();

export const PAGES = ["npcs", "skills", "memories", "tool-servers"] as const;
export type PageName = (typeof PAGES)[number];

export type Place =
  | { at: "home" }
  | { at: "conversation"; id: string }
  /** With an id: one of what the page lists. */
  | { at: "page"; name: PageName; id: string | null };

export function placeIn({ pathname, hash }: { pathname: string; hash: string }): Place {
  const conversation = /^\/c\/([^/]+)\/?$/.exec(pathname)?.[1];
  if (conversation) return { at: "conversation", id: decoded(conversation) };
  const [, name, id] = /^#([a-z-]+)(?:\/([^/]+))?$/.exec(hash) ?? [];
  const page = PAGES.find((one) => one === name);
  return page ? { at: "page", name: page, id: id === undefined ? null : decoded(id) } : { at: "home" };
}

/** An address that somebody mistyped names something that is not there, and is no reason to fail. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function placeInAddress(): Place {
  return placeIn(location);
}

/** Of a Conversation, or of the first screen. */
export function addressOf(id: string | null): string {
  return id === null ? "/" : `/c/${encodeURIComponent(id)}`;
}

export function addressOfPage(name: PageName, id: string | null = null): string {
  return `/#${name}${id === null ? "" : `/${encodeURIComponent(id)}`}`;
}

export function goTo(address: string): void {
  if (address !== location.pathname + location.hash) history.pushState(null, "", address);
  for (const told of moved) told();
}

/** Goes there within the page, unless the Player asked for a new tab. */
export function follow(event: MouseEvent, address: string): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  goTo(address);
}

export function onMove(told: () => void): () => void {
  moved.add(told);
  addEventListener("popstate", told);
  return () => {
    moved.delete(told);
    removeEventListener("popstate", told);
  };
}
