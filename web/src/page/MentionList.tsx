import type { Nameable } from "../mention";

interface Props {
  id: string;
  list: readonly Nameable[];
  at: number;
  optionId: (index: number) => string;
  choose: (one: Nameable) => void;
}

/** Whom an `@` may mean. The focus stays in the text; the one that Enter takes is told to it as its active descendant. */
export function MentionList({ id, list, at, optionId, choose }: Props) {
  return (
    <ul id={id} class="mentions" role="listbox" aria-label="Whom to address" data-testid="mentions">
      {list.map((one, index) => (
        <li
          key={one.id}
          id={optionId(index)}
          role="option"
          aria-selected={index === at}
          // Before the field would lose the focus to it.
          onMouseDown={(event) => {
            event.preventDefault();
            choose(one);
          }}
        >
          @{one.name}
        </li>
      ))}
    </ul>
  );
}
