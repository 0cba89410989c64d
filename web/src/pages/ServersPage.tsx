// Tool servers, for admins: how each stands, what Tools it brings, and more of them.

import { useEffect } from "preact/hooks";
import { abilities } from "../api/abilities";
import { TroubleLine } from "../page/TroubleLine";
import { useAnswer } from "../page/useAnswer";
import { AddServers } from "./AddServers";
import { ServerItem } from "./ServerItem";

/** A server connects in its own time; while somebody looks it is asked for so often. */
const AGAIN = 3_000;

export function ServersPage() {
  const { value, trouble, again } = useAnswer(abilities.toolServers, []);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && again(), AGAIN);
    return () => clearInterval(timer);
  }, []);
  if (!value) return trouble && <TroubleLine trouble={trouble} />;
  return (
    <>
      {trouble && <TroubleLine trouble={trouble} />}
      {value.fileError && (
        <p class="trouble" data-testid="file-error">
          {value.fileError}
        </p>
      )}
      {value.items.length === 0 && <p class="small">There are no tool servers yet.</p>}
      {value.items.map((server) => (
        <ServerItem key={server.id} server={server} changed={again} />
      ))}
      <AddServers added={again} />
    </>
  );
}
