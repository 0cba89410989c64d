// Draws at most once per animation frame, and less often when drawing is dear: a drawing that took long is followed by a
// pause of three times its length. So a reply of any size never takes more than about a quarter of the page's time, and
// typing and scrolling stay smooth.

/** Answers a function that asks for one drawing; any number of calls before it happens are one. */
export function paced(draw: () => void): () => void {
  let asked = false;
  let earliest = 0;
  const now = (): void => {
    asked = false;
    const began = performance.now();
    draw();
    // The drawing itself happens behind this call, and layout and paint behind that: a task later they are done.
    setTimeout(() => {
      earliest = performance.now() + 3 * (performance.now() - began - TASK);
    }, 0);
  };
  return () => {
    if (asked) return;
    asked = true;
    const wait = earliest - performance.now();
    if (wait > FRAME) setTimeout(() => requestAnimationFrame(now), wait - FRAME);
    else requestAnimationFrame(now);
  };
}

const FRAME = 16;
/** What an empty task costs, roughly: browsers round short timeouts up. */
const TASK = 4;
