import type { TimerClock } from '#shared/kit/timer-clock.ts';
import { cursorsOf, type RunLedger, type RunRef, readPageOf } from '#shared/runs/index.ts';
import { type FramedPage, type LogFeed, type LogFeeds, pageFramer } from './log-feed.ts';
import { requireRun } from './view-run.ts';

/** One reader's connection. */
export interface EventSink {
  /** Undefined when there is room for more; else resolves when there is again, or when the reader has left. */
  write(bytes: Buffer): Promise<void> | undefined;
  /** Ends the connection so that the reader cannot take what it has for the whole. */
  cut(reason: string): void;
  readonly closed: AbortSignal;
}

export interface StreamLimits {
  /** Nothing is sent from then on: end of the reader's access, or of the connection's age. */
  readonly endsAtMs: number;
  /** Longest silence. */
  readonly heartbeatMs: number;
  /** A reader that takes nothing for this long is cut off. */
  readonly stallMs: number;
  /** How long the reader is asked to wait before it connects again. */
  readonly retryMs: number;
}

/**
 * `final`: the run's last event was sent · `age`: the time is over, the run is not · `left`: by the reader ·
 * `stalled`: the reader took nothing.
 */
export type StreamEnding = 'final' | 'age' | 'left' | 'stalled';

/** Where a reader wants to go on, and the field it said so in. */
export interface ResumeAt {
  readonly cursor: string;
  readonly field: string;
}

/**
 * Most that is handed to a connection at once, so that a slow reader is told from one that is gone, and the end of its
 * time stops it within a page.
 */
const CHUNK_BYTES = 16 * 1024;
const HEARTBEAT = Buffer.from(': heartbeat\n\n');

/**
 * TRM-7: replays from the cursor, follows the log, and ends by itself after the final event. Log and live events are
 * one source, so nothing can fall between a check and a subscription (B115).
 *
 * @throws PlatformError `run_not_found`, `invalid_cursor`, before the first byte is written
 */
export async function openEventStream(
  deps: { ledger: RunLedger; clock: TimerClock; feeds: LogFeeds },
  ref: RunRef,
  resume: ResumeAt | undefined,
): Promise<(sink: EventSink, limits: StreamLimits) => Promise<StreamEnding>> {
  const cursor = resume && cursorsOf(ref).decode(resume.cursor, resume.field);
  await requireRun(deps.ledger, ref);
  const page = resume && cursor && (await readPageOf(deps.ledger, ref, cursor, resume.field));
  let left = page && cursor && restOf(pageFramer(ref)(page), cursor.offset);
  return async (sink, limits) => {
    const feed = deps.feeds.open(ref);
    try {
      const stream = new EventStream(feed, deps.clock, sink, limits);
      const first = left;
      left = undefined;
      return await stream.run(first);
    } finally {
      feed.close();
    }
  };
}

/** The page without its events up to and with `offset`. */
function restOf(page: FramedPage, offset: number): FramedPage {
  const bytes = page.bytes.subarray(page.starts[offset + 1] ?? page.bytes.length);
  return { ...page, bytes };
}

class EventStream {
  readonly #feed: LogFeed;
  readonly #clock: TimerClock;
  readonly #sink: EventSink;
  readonly #limits: StreamLimits;
  #lastWriteMs: number;

  constructor(feed: LogFeed, clock: TimerClock, sink: EventSink, limits: StreamLimits) {
    this.#feed = feed;
    this.#clock = clock;
    this.#sink = sink;
    this.#limits = limits;
    this.#lastWriteMs = clock.now();
  }

  async run(first: FramedPage | undefined): Promise<StreamEnding> {
    const { retryMs, endsAtMs } = this.#limits;
    // At once, so that the reader knows that it is connected, whenever the run says something.
    let ending = await this.#send(Buffer.from(`: events of a run\nretry: ${retryMs}\n\n`));
    ending ??= first && (await this.#sendPage(first));
    let index = first?.index ?? 0;
    while (!ending) {
      const now = this.#clock.now();
      const heartbeatAtMs = this.#lastWriteMs + this.#limits.heartbeatMs;
      if (now >= endsAtMs) return 'age';
      if (now >= heartbeatAtMs) {
        ending = await this.#send(HEARTBEAT);
        continue;
      }
      const ms = Math.min(heartbeatAtMs, endsAtMs) - now;
      for (const page of await this.#feed.next(index, ms, this.#sink.closed)) {
        ending = await this.#sendPage(page);
        if (ending) break;
        index = page.index;
      }
      if (this.#sink.closed.aborted) ending ??= 'left';
    }
    return ending;
  }

  async #sendPage(page: FramedPage): Promise<StreamEnding | undefined> {
    return (await this.#send(page.bytes)) ?? (page.final ? 'final' : undefined);
  }

  /** Undefined when the reader has taken it all. Whatever was sent in part is cut off, so that nobody takes it for whole. */
  async #send(bytes: Buffer): Promise<StreamEnding | undefined> {
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      if (this.#sink.closed.aborted) return 'left';
      if (this.#clock.now() >= this.#limits.endsAtMs) return this.#over(at);
      const taking = this.#sink.write(bytes.subarray(at, at + CHUNK_BYTES));
      if (taking && !(await this.#isTaken(taking))) {
        if (this.#sink.closed.aborted) return 'left';
        if (this.#clock.now() >= this.#limits.endsAtMs) return this.#over(1);
        this.#sink.cut(`the reader took nothing for ${this.#limits.stallMs} ms`);
        return 'stalled';
      }
    }
    this.#lastWriteMs = this.#clock.now();
    return undefined;
  }

  #over(sentBytes: number): StreamEnding {
    if (sentBytes > 0) this.#sink.cut('the time of this connection is over');
    return 'age';
  }

  async #isTaken(taking: Promise<void>): Promise<boolean> {
    const left = this.#limits.endsAtMs - this.#clock.now();
    let takeBack = () => {};
    const late = new Promise<false>((resolve) => {
      const ms = Math.max(0, Math.min(this.#limits.stallMs, left));
      takeBack = this.#clock.after(ms, () => resolve(false));
    });
    const taken = await Promise.race([taking.then(() => true as const), late]);
    takeBack();
    return taken && !this.#sink.closed.aborted;
  }
}
