import type { AgentEvent } from '#shared/contracts/index.ts';
import type { TimerClock } from '#shared/kit/timer-clock.ts';
import {
  cursorsOf,
  type LogPage,
  type RunLedger,
  type RunRef,
  toAgentEvents,
} from '#shared/runs/index.ts';

/** A page as it goes over the wire. Made once and shared: its bytes do not depend on the reader. */
export interface FramedPage {
  readonly index: number;
  readonly final: boolean;
  readonly bytes: Buffer;
  /** Where each event begins in `bytes`. */
  readonly starts: readonly number[];
}

/** One run's log as the readers of this process follow it. */
export interface LogFeed {
  /**
   * Pages behind `afterIndex`, in order and without a gap. Waits for the next one where there is none yet, at most
   * `ms` and until the signal: then it answers none. May answer none earlier; ask again.
   */
  next(afterIndex: number, ms: number, signal: AbortSignal): Promise<readonly FramedPage[]>;
  /** To be called once by each who opened it. */
  close(): void;
}

export interface LogFeeds {
  open(ref: RunRef): LogFeed;
}

interface FeedDeps {
  readonly ledger: Pick<RunLedger, 'readPages'>;
  readonly clock: TimerClock;
}

/** A waiting reader, woken at most once. */
type Waiter = (fault?: { readonly error: unknown }) => void;

const PAGES_PER_READ = 16;
/** Of one poll and of one reader's own read; at least one page. What was read beyond it is read again. */
const POLL_BYTES = 2 * 1024 * 1024;
const CATCH_UP_BYTES = 256 * 1024;
/** Newest pages kept for the readers of a run; who is behind them reads from the table, at its own cost. */
const KEPT_BYTES = 3 * 1024 * 1024;

/** A quiet log is asked every tenth of the time it has been quiet, within these bounds. */
const POLL_MIN_MS = 100;
const POLL_MAX_MS = 2_000;
const QUIET_SHARE = 10;
const MAX_POLL_FAULTS = 5;
const FAULT_PAUSE = { baseMs: 250, maxMs: 4_000 };

/**
 * All streams of a run in one process share one poll of its log and the bytes it brought: a thousand quiet streams
 * read the table as often as one. Where every stream has a process of its own (Lambda) each one is alone with its feed.
 */
export function openLogFeeds(deps: FeedDeps): LogFeeds {
  const tails = new Map<string, { tail: LogTail; readers: number }>();
  return {
    open(ref) {
      const key = `${ref.tenantId}/${ref.runId}`;
      const shared = tails.get(key) ?? { tail: new LogTail(deps, ref), readers: 0 };
      tails.set(key, shared);
      shared.readers += 1;
      return {
        next: (afterIndex, ms, signal) => shared.tail.next(afterIndex, ms, signal),
        close() {
          shared.readers -= 1;
          if (shared.readers > 0) return;
          tails.delete(key);
          shared.tail.stop();
        },
      };
    },
  };
}

class LogTail {
  readonly #deps: FeedDeps;
  readonly #ref: RunRef;
  readonly #frame: (page: LogPage) => FramedPage;
  /** The newest pages, without a gap; the last one is `#end`. */
  #pages: FramedPage[] = [];
  #keptBytes = 0;
  /** Index of the newest page that is known to be there; -1: none was looked for yet. */
  #end = -1;
  readonly #waiters = new Set<Waiter>();
  #polling = false;
  #faults = 0;
  #quietSinceMs: number;
  #nextPollAtMs: number;
  #endPause: () => void = () => {};

  constructor(deps: FeedDeps, ref: RunRef) {
    this.#deps = deps;
    this.#ref = ref;
    this.#frame = pageFramer(ref);
    this.#quietSinceMs = deps.clock.now();
    this.#nextPollAtMs = this.#quietSinceMs;
  }

  async next(afterIndex: number, ms: number, signal: AbortSignal): Promise<readonly FramedPage[]> {
    if (afterIndex > this.#end) this.#hurryTo(afterIndex);
    const kept = this.#keptAfter(afterIndex);
    if (kept.length > 0) return kept;
    if (afterIndex < this.#end) return this.#catchUp(afterIndex);
    await this.#change(ms, signal);
    return this.#keptAfter(afterIndex);
  }

  stop(): void {
    this.#endPause();
  }

  /** A reader has seen more of the log than this tail: either nobody has polled for a while, or a poll is due. */
  #hurryTo(afterIndex: number): void {
    if (this.#waiters.size === 0) {
      this.#pages = [];
      this.#keptBytes = 0;
      this.#end = afterIndex;
    }
    this.#nextPollAtMs = this.#deps.clock.now();
    this.#endPause();
  }

  #keptAfter(afterIndex: number): readonly FramedPage[] {
    const first = this.#pages[0];
    if (!first || afterIndex < first.index - 1) return [];
    return this.#pages.slice(afterIndex - first.index + 1);
  }

  /** For a reader that is behind what is kept. */
  async #catchUp(afterIndex: number): Promise<readonly FramedPage[]> {
    const pages = await this.#read(afterIndex, CATCH_UP_BYTES);
    if (pages.length === 0) throw new RangeError(`page ${afterIndex + 1} of the log is gone`);
    return pages;
  }

  async #read(afterIndex: number, maxBytes: number): Promise<FramedPage[]> {
    const framed: FramedPage[] = [];
    let bytes = 0;
    for (const page of await this.#deps.ledger.readPages(this.#ref, afterIndex, PAGES_PER_READ)) {
      if (page.index !== afterIndex + framed.length + 1) {
        throw new RangeError(`page ${afterIndex + framed.length + 1} of the log is missing`);
      }
      if (framed.length > 0 && bytes >= maxBytes) break;
      const one = this.#frame(page);
      bytes += one.bytes.length;
      framed.push(one);
    }
    return framed;
  }

  #change(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const wake: Waiter = (fault) => {
        this.#waiters.delete(wake);
        takeBack();
        signal.removeEventListener('abort', onAbort);
        if (fault) reject(fault.error);
        else resolve();
      };
      const onAbort = () => wake();
      const takeBack = this.#deps.clock.after(ms, onAbort);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(wake);
      void this.#poll();
    });
  }

  #wakeAll(fault?: { readonly error: unknown }): void {
    for (const wake of [...this.#waiters]) wake(fault);
  }

  /** Runs while somebody waits. A reader that is busy with what it got is not read for. */
  async #poll(): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    try {
      for (;;) {
        await this.#pause(this.#nextPollAtMs - this.#deps.clock.now());
        if (this.#waiters.size === 0) return;
        await this.#pollOnce();
      }
    } finally {
      this.#polling = false;
    }
  }

  async #pollOnce(): Promise<void> {
    const { clock } = this.#deps;
    const from = this.#end;
    try {
      const pages = await this.#read(from, POLL_BYTES);
      this.#faults = 0;
      // A reader that was further moved the tail meanwhile: these are not its next pages.
      if (this.#end !== from) return;
      const now = clock.now();
      if (pages.length === 0) {
        const share = (now - this.#quietSinceMs) / QUIET_SHARE;
        this.#nextPollAtMs = now + Math.min(POLL_MAX_MS, Math.max(POLL_MIN_MS, share));
        return;
      }
      this.#quietSinceMs = now;
      // Whoever reads a log from afar is not held up; who follows a live one reads it a few times a second.
      this.#nextPollAtMs = pages.length >= PAGES_PER_READ ? now : now + POLL_MIN_MS;
      this.#keep(pages);
      this.#wakeAll();
    } catch (error) {
      this.#faults += 1;
      const pause = Math.min(FAULT_PAUSE.maxMs, FAULT_PAUSE.baseMs * 2 ** this.#faults);
      this.#nextPollAtMs = clock.now() + pause;
      if (this.#faults < MAX_POLL_FAULTS) return;
      this.#faults = 0;
      this.#wakeAll({ error });
    }
  }

  #keep(pages: readonly FramedPage[]): void {
    this.#pages.push(...pages);
    this.#end = pages.at(-1)?.index ?? this.#end;
    for (const page of pages) this.#keptBytes += page.bytes.length;
    while (this.#keptBytes > KEPT_BYTES && this.#pages.length > pages.length) {
      this.#keptBytes -= this.#pages.shift()?.bytes.length ?? 0;
    }
  }

  #pause(ms: number): Promise<void> {
    if (ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        takeBack();
        this.#endPause = () => {};
        resolve();
      };
      const takeBack = this.#deps.clock.after(ms, end);
      this.#endPause = end;
    });
  }
}

/** One SSE event per stored event, with the cursor that resumes behind it. */
export function pageFramer(ref: RunRef): (page: LogPage) => FramedPage {
  const cursors = cursorsOf(ref);
  return (page) => {
    const starts: number[] = [];
    const frames: Buffer[] = [];
    let at = 0;
    for (const [offset, event] of toAgentEvents(ref.runId, page).entries()) {
      const bytes = Buffer.from(frame(event, cursors.encode({ index: page.index, offset })));
      starts.push(at);
      frames.push(bytes);
      at += bytes.length;
    }
    return {
      index: page.index,
      final: page.kind === 'final',
      bytes: Buffer.concat(frames, at),
      starts,
    };
  };
}

/** JSON escapes every line end inside strings, so engine text cannot forge fields (B124). */
function frame(event: AgentEvent, cursor: string): string {
  return `id: ${cursor}\nevent: ${event.eventType}\ndata: ${JSON.stringify(event)}\n\n`;
}
