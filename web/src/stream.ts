// One Conversation's frames as they come, to whoever draws it. Where the browser has shared workers, one of them reads
// for all tabs: browsers allow six connections to a host over HTTP/1.1, for all tabs together. Elsewhere, or where the
// worker can't be started, the tab reads for itself.

import { link } from "./stream/link";
import { OwnStream } from "./stream/own";
import type { Unfinished } from "./stream/words";
import type { Frame } from "./wire";

export interface StreamReader {
  frame(frame: Frame): void;
  /** Whether frames arrive now, or the connection is being made anew. */
  connected(yes: boolean): void;
  gone(): void;
  /** The server knows less than the reader does: the transcript has to be loaded anew. The stream is over. */
  stale(): void;
  /** Whether a reply is being written: then a tab's own stream is held even where nobody looks. */
  busy(): boolean;
  /** The Messages that are being written, as the frames have told them so far. */
  unfinished(): Unfinished[];
}

export class FrameStream {
  #source: { close(): void };

  /** The cursor is that of the newest frame that the reader has. */
  constructor(conversationId: string, cursor: number, reader: StreamReader) {
    const shared = link()?.watch(conversationId, cursor, reader, (last) => {
      this.#source = new OwnStream(conversationId, last, reader);
    });
    this.#source = shared ?? new OwnStream(conversationId, cursor, reader);
  }

  close(): void {
    this.#source.close();
  }
}
