// Whom an `@` at the beginning of a text may mean while it is typed. The server reads it by the same rule: the name or
// the slug right behind an `@` that nothing precedes.

export interface Nameable {
  id: string;
  slug: string;
  name: string;
}

/** Those whose name, a word of it, or slug begins with what stands between the `@` and the caret. */
export function mentionable<T extends Nameable>(text: string, caret: number, party: readonly T[]): T[] {
  const typed = /^\s*@([^\n]*)$/.exec(text.slice(0, caret))?.[1]?.toLowerCase();
  if (typed === undefined) return [];
  return party.filter(({ name, slug }) => {
    const lower = name.toLowerCase();
    return lower.startsWith(typed) || slug.startsWith(typed) || (typed !== "" && lower.includes(` ${typed}`));
  });
}

/** The text with the name in full, and where one types on. */
export function mentioned(text: string, caret: number, name: string): { text: string; caret: number } {
  const lead = `@${name} `;
  return { text: lead + text.slice(caret).trimStart(), caret: lead.length };
}
