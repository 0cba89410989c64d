// Keeps the newest text in view while it grows, unless the Player has scrolled away from it.

import { useRef, useState } from "preact/hooks";

/** Within so many pixels of the end, the Player counts as being there. */
const NEAR = 48;

export function useStickToEnd() {
  const box = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  const top = useRef(0);
  const [shown, setShown] = useState(true);

  const set = (yes: boolean): void => {
    stuck.current = yes;
    setShown(yes);
  };
  const toEnd = (): void => {
    const { current } = box;
    if (current && stuck.current) current.scrollTop = current.scrollHeight;
  };
  // Made once; all of it reads the refs, so it never grows old.
  const [{ outer, inner }] = useState(() => {
    // Blocks are drawn on their own, below the component that uses this: only the size itself tells of all of them.
    // The box is watched too, for it shrinks when the composer grows.
    const watcher = new ResizeObserver(toEnd);
    return { outer: watched(watcher, box), inner: watched(watcher, { current: null }) };
  });

  return {
    outer,
    inner,
    stuck: shown,
    stick: (): void => {
      set(true);
      toEnd();
    },
    scrolled: (): void => {
      const { current } = box;
      if (!current) return;
      const near = current.scrollHeight - current.scrollTop - current.clientHeight < NEAR;
      // Text that came since the page scrolled by itself also leaves the end out of view: only going up is leaving.
      if (near) set(true);
      else if (current.scrollTop < top.current - 1) set(false);
      top.current = current.scrollTop;
    },
    /** Call before content is put above, and the answer after: what was in view stays in view. */
    holdPlace: (): (() => void) => {
      const { current } = box;
      const fromEnd = current ? current.scrollHeight - current.scrollTop : 0;
      return () =>
        requestAnimationFrame(() =>
          requestAnimationFrame(() => {
            if (current) current.scrollTop = current.scrollHeight - fromEnd;
          }),
        );
    },
  };
}

/** A ref that has its element's size watched for as long as the element is there. */
function watched(watcher: ResizeObserver, place: { current: Element | null }): (element: HTMLDivElement | null) => void {
  return (element) => {
    if (place.current) watcher.unobserve(place.current);
    place.current = element;
    if (element) watcher.observe(element);
  };
}
