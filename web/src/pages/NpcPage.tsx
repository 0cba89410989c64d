// One NPC: what it may call, and which skills it has.

import { api } from "../api";
import { Avatar } from "../page/Avatar";
import { TroubleLine } from "../page/TroubleLine";
import { useAnswer } from "../page/useAnswer";
import { addressOfPage, follow } from "../place";
import { Grants } from "./Grants";
import { SkillsPage } from "./SkillsPage";

export function NpcPage({ id, admin }: { id: string; admin: boolean }) {
  const { value: npc, trouble } = useAnswer(() => api.npc(id), [id]);
  const back = addressOfPage("npcs");
  return (
    <>
      <a class="small" href={back} onClick={(event) => follow(event, back)}>
        ← All inhabitants
      </a>
      {trouble && <TroubleLine trouble={trouble} />}
      {npc && (
        <>
          <h2 class="npc-title">
            <Avatar name={npc.name} avatar={npc.avatar} /> {npc.name}
          </h2>
          {npc.description && <p class="plain">{npc.description}</p>}
          <Grants npc={npc} />
          <section class="stack" aria-label="Skills">
            <h2>Skills</h2>
            <SkillsPage admin={admin} npc={npc} />
          </section>
        </>
      )}
    </>
  );
}
