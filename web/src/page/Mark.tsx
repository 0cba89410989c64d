/** Hamlet's sign: two houses. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" class="ground" />
      <path d="M5 17 11.5 10.5 18 17v8H5z" class="wall" />
      <path d="M16 14.5 21.5 9 27 14.5V25h-7v-8.5z" class="lit" />
      <rect x="9.5" y="19" width="4" height="6" class="ground" />
    </svg>
  );
}
