import { insight } from "../api/insight";
import { Panel } from "./Panel";
import { PromptView } from "./PromptView";
import { TroubleLine } from "./TroubleLine";
import { useAnswer } from "./useAnswer";

/** What was sent for each step of a reply. */
export function Told({ messageId, name, close }: { messageId: string; name: string; close: () => void }) {
  const { value, trouble } = useAnswer(() => insight.told(messageId), [messageId]);
  return (
    <Panel title={`What ${name} was told`} close={close}>
      {trouble && <TroubleLine trouble={trouble} />}
      {value?.steps.length === 0 && <p class="small">Nothing was kept for this reply.</p>}
      {value?.steps.map((step, index) => (
        <section key={step.step} class="told-step" data-testid="told-step">
          {value.steps.length > 1 && <h3>Step {index + 1}</h3>}
          <PromptView prompt={step} />
        </section>
      ))}
    </Panel>
  );
}
