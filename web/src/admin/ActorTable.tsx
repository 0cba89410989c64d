import { StateWord } from "./Filters";
import type { Actor } from "./wire";
import { age, bytes, phaseOf, short, watchersOf } from "./words";

interface Props {
  rows: Actor[];
  loading: boolean;
  /** Whether only some actors are asked for. */
  filtered: boolean;
  /** The server's time. */
  now: number;
  open: string | null;
  choose: (id: string) => void;
}

export function ActorTable({ rows, loading, filtered, now, open, choose }: Props) {
  return (
    <div class="table" role="region" aria-label="Actors" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Conversation</th>
            <th scope="col">Player</th>
            <th scope="col">Turn</th>
            <th scope="col">Phase</th>
            <th scope="col">Speaker</th>
            <th scope="col" class="number">Queue</th>
            <th scope="col" class="number">Mailbox</th>
            <th scope="col" class="number">Watchers</th>
            <th scope="col" class="number">Cursor</th>
            <th scope="col" class="number">Memory</th>
            <th scope="col" class="number">Restarts</th>
            <th scope="col">Last error</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((actor) => (
            <tr
              key={actor.conversationId}
              class={actor.conversationId === open ? "open" : ""}
              data-testid="actor"
              data-id={actor.conversationId}
              data-state={actor.state}
              data-phase={actor.phase ?? ""}
            >
              <td>
                <StateWord state={actor.state} />
              </td>
              <th scope="row">
                <button
                  type="button"
                  class="link"
                  title={actor.conversationId}
                  aria-expanded={actor.conversationId === open}
                  onClick={() => choose(actor.conversationId)}
                >
                  {short(actor.conversationId)}
                </button>
              </th>
              <td>{actor.player?.name ?? "–"}</td>
              <td class="nowrap">{actor.turn ? age(now - Date.parse(actor.turn.since)) : "–"}</td>
              <td class="nowrap">{phaseOf(actor) || "–"}</td>
              <td>{actor.speaker?.name ?? "–"}</td>
              <td class="number">{actor.queue}</td>
              <td class="number">{actor.mailbox ? actor.mailbox.depth : "–"}</td>
              <td class="number">{watchersOf(actor)}</td>
              <td class="number">{actor.cursor ?? "–"}</td>
              <td class="number nowrap">{bytes(actor.memoryBytes)}</td>
              <td class="number">{actor.restarts.total}</td>
              <td>{actor.lastError ? <code title={actor.lastError.message}>{actor.lastError.code}</code> : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && (
        <p class="none" role="status">
          {loading ? "Looking …" : filtered ? "No actor is like that now." : "Everybody is asleep."}
        </p>
      )}
    </div>
  );
}
