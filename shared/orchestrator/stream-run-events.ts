import type { AgentEvent } from '#shared/contracts/index.ts';
import type { Clock } from '#shared/kit/clock.ts';
import {
  decodeEventCursor,
  LOG_BEGINNING,
  type RunLedger,
  type RunRef,
  readEvents,
} from '#shared/runs/index.ts';
import { requireRun } from './view-run.ts';

/** The client's side of a stream. `write` resolves when the client has taken it: a slow reader slows only itself. */
export interface EventSink {
  write(text: string): Promise<void>;
  readonly closed: AbortSignal;
}

export interface StreamLimits {
  /** The stream ends here at the latest (token expiry, end of the invocation); the client resumes by its cursor. */
  readonly endsAtMs: number;
  readonly heartbeatMs: number;
  /** Wait between reads: starts at the first, doubles up to the second while nothing comes. */
  readonly pollMinMs: number;
  readonly pollMaxMs: number;
}

const EVENTS_PER_READ = 500;

/**
 * TRM-7: replays from the cursor, follows the log, and ends by itself after the final event. Log and live events are
 * one source, so nothing can fall between a check and a subscription.
 *
 * @throws PlatformError `run_not_found`, `invalid_cursor`, before the first byte is written
 */
export async function openEventStream(
  deps: {
    ledger: RunLedger;
    clock: Clock;
    wait: (ms: number, signal: AbortSignal) => Promise<void>;
  },
  ref: RunRef,
  cursor: string | undefined,
): Promise<(sink: EventSink, limits: StreamLimits) => Promise<void>> {
  let after = cursor === undefined ? LOG_BEGINNING : decodeEventCursor(cursor);
  await requireRun(deps.ledger, ref);
  return async (sink, limits) => {
    let pollMs = limits.pollMinMs;
    let lastWriteMs = deps.clock.now();
    await sink.write(': stream of a run\nretry: 1000\n\n');
    while (!sink.closed.aborted && deps.clock.now() < limits.endsAtMs) {
      const read = await readEvents(deps.ledger, ref, after, EVENTS_PER_READ);
      if (read.events.length > 0) {
        await sink.write(read.events.map(({ event, cursor: id }) => frame(event, id)).join(''));
        after = read.next;
        lastWriteMs = deps.clock.now();
        pollMs = limits.pollMinMs;
      }
      if (read.complete) return;
      if (read.events.length > 0) continue;
      if (deps.clock.now() - lastWriteMs >= limits.heartbeatMs) {
        await sink.write(': heartbeat\n\n');
        lastWriteMs = deps.clock.now();
      }
      await deps.wait(pollMs, sink.closed);
      pollMs = Math.min(limits.pollMaxMs, pollMs * 2);
    }
  };
}

/** One SSE event. JSON escapes every line end inside strings, so engine text cannot forge fields (B124). */
export function frame(event: AgentEvent, cursor: string): string {
  return `id: ${cursor}\nevent: ${event.eventType}\ndata: ${JSON.stringify(event)}\n\n`;
}
