// The shared worker of all tabs of this build.

import { Hub } from "./hub";
import type { Port } from "./tab";

const hub = new Hub();
const scope = globalThis as unknown as { onconnect: (event: { ports: Port[] }) => void };

scope.onconnect = ({ ports }) => {
  for (const port of ports) hub.enter(port);
};
