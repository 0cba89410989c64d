/** Hamlet's sign: two houses. */
export function Mark() {
  return <img class="mark" src="/favicon.svg" alt="" />;
}
