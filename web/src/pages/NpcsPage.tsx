import { api } from "../api";
import { Avatar } from "../page/Avatar";
import { TroubleLine } from "../page/TroubleLine";
import { useAnswer } from "../page/useAnswer";
import { addressOfPage, follow } from "../place";

/** Who lives here; each leads to what it may do and knows how to do. */
export function NpcsPage() {
  const { value, trouble } = useAnswer(api.npcs, []);
  return (
    <>
      {trouble && <TroubleLine trouble={trouble} />}
      {value?.length === 0 && <p class="small">Nobody lives here yet.</p>}
      <ul class="npcs plain-list">
        {value?.map((npc) => {
          const address = addressOfPage("npcs", npc.id);
          return (
            <li key={npc.id}>
              <a class="npc" href={address} onClick={(event) => follow(event, address)} data-testid="inhabitant">
                <Avatar name={npc.name} avatar={npc.avatar} />
                <span>
                  <strong>{npc.name}</strong> {npc.jobTitle && <span class="job">{npc.jobTitle}</span>}
                  {npc.description && <span class="about">{npc.description}</span>}
                </span>
              </a>
            </li>
          );
        })}
      </ul>
    </>
  );
}
