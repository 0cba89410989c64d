/** More is no sign. */
const SIGN = 4;

/**
 * Somebody's sign. A picture comes from what is written here only: the page asks no other host for anything, so of an
 * address elsewhere the initial is shown.
 */
export function Avatar({ name, avatar }: { name: string; avatar: string | null }) {
  if (avatar?.startsWith("data:image/")) return <img class="avatar" src={avatar} alt="" />;
  const sign = avatar && [...avatar].length <= SIGN ? avatar : ([...name][0] ?? "?").toUpperCase();
  return (
    <span class="avatar" aria-hidden="true">
      {sign}
    </span>
  );
}
