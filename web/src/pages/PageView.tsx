import type { PageName } from "../place";
import type { Me } from "../wire";
import { MemoriesPage } from "./MemoriesPage";
import { NpcPage } from "./NpcPage";
import { NpcsPage } from "./NpcsPage";
import { ServersPage } from "./ServersPage";
import { SkillsPage } from "./SkillsPage";

/** One of the pages beside the chat. */
export function PageView({ name, id, me }: { name: PageName; id: string | null; me: Me }) {
  return (
    <div class="scroll">
      <div class="column page stack">{pageOf(name, id, me)}</div>
    </div>
  );
}

function pageOf(name: PageName, id: string | null, me: Me) {
  switch (name) {
    case "npcs":
      return id === null ? <NpcsPage /> : <NpcPage key={id} id={id} admin={me.role === "admin"} />;
    case "skills":
      return <SkillsPage admin={me.role === "admin"} />;
    case "memories":
      return <MemoriesPage />;
    case "tool-servers":
      return <ServersPage />;
  }
}
