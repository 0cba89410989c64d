import { useEffect, useState } from "preact/hooks";
import { abilities } from "../api/abilities";
import { addressOfPage, follow, PAGES, type PageName } from "../place";
import type { Me } from "../wire";

export const TITLES: Record<PageName, string> = {
  npcs: "Inhabitants",
  skills: "Skills",
  memories: "What they remember of you",
  "tool-servers": "Tool servers",
};

/** The pages beside the chat. Tool servers are for admins, where the server has them. */
export function Menu({ me, current }: { me: Me; current: PageName | null }) {
  const [servers, setServers] = useState(false);
  useEffect(() => {
    if (me.role !== "admin") return;
    abilities.toolServers().then(
      () => setServers(true),
      () => setServers(false),
    );
  }, [me.role]);

  return (
    <nav class="menu-pages" aria-label="Pages">
      <ul>
        {PAGES.filter((name) => servers || name !== "tool-servers").map((name) => (
          <li key={name} class={name === current ? "current" : ""}>
            <a
              href={addressOfPage(name)}
              aria-current={name === current ? "page" : undefined}
              onClick={(event) => follow(event, addressOfPage(name))}
            >
              {TITLES[name]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
