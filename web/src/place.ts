// Which Conversation the address names, and going to another without loading the page anew.

const moved = new Set<() => void>();

export function conversationInAddress(): string | null {
  const found = /^\/c\/([^/]+)\/?$/.exec(location.pathname);
  return found ? decodeURIComponent(found[1]!) : null;
}

export function addressOf(id: string | null): string {
  return id === null ? "/" : `/c/${encodeURIComponent(id)}`;
}

export function goTo(id: string | null): void {
  if (addressOf(id) !== location.pathname) history.pushState(null, "", addressOf(id));
  for (const told of moved) told();
}

export function onMove(told: () => void): () => void {
  moved.add(told);
  addEventListener("popstate", told);
  return () => {
    moved.delete(told);
    removeEventListener("popstate", told);
  };
}
