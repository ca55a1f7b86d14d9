import type { AgentEvent } from '#shared/contracts/index.ts';
import { cursorsOf, type EventCursor, invalidCursor } from './event-cursor.ts';
import { type LogPage, toAgentEvents } from './log-page.ts';
import type { RunRef } from './run-head.ts';
import type { RunLedger } from './run-ledger.ts';

export interface ReadEvents {
  /** Each event with the cursor that resumes behind it. */
  readonly events: readonly { readonly event: AgentEvent; readonly cursor: string }[];
  readonly next: EventCursor;
  /** The final page was read: nothing follows. */
  readonly complete: boolean;
}

const PAGES_PER_READ = 20;
/** Of the events' JSON in one answer: a function can return 6 MB, and escapes may double what is inside strings. */
const MAX_ANSWER_BYTES = 2_500_000;

/**
 * Reads on from a cursor, at least one event where there is one; `limit` and the size of an answer bound the rest.
 * @throws PlatformError `invalid_cursor` for a place that this log does not have
 */
export async function readEvents(
  ledger: Pick<RunLedger, 'readPages'>,
  ref: RunRef,
  after: EventCursor,
  limit: number,
): Promise<ReadEvents> {
  const cursors = cursorsOf(ref);
  const events: { event: AgentEvent; cursor: string }[] = [];
  let bytes = 0;
  // The page of the cursor itself is read again: it may have been left half way.
  const pages = await ledger.readPages(ref, Math.max(0, after.index - 1), PAGES_PER_READ);
  requirePlace(pages[0], after, 'cursor');
  let next = after;
  for (const page of pages) {
    const all = toAgentEvents(ref.runId, page);
    const from = page.index === after.index ? after.offset + 1 : 0;
    for (let offset = from; offset < all.length; offset += 1) {
      const event = all[offset] as AgentEvent;
      bytes += Buffer.byteLength(JSON.stringify(event));
      const full = events.length >= limit || (events.length > 0 && bytes > MAX_ANSWER_BYTES);
      if (full) return { events, next, complete: false };
      next = { index: page.index, offset };
      events.push({ event, cursor: cursors.encode(next) });
    }
    if (page.kind === 'final') return { events, next, complete: true };
  }
  return { events, next, complete: false };
}

/**
 * The page that a cursor points into; undefined at the beginning of the log.
 * @throws PlatformError `invalid_cursor` for a place that this log does not have
 */
export async function readPageOf(
  ledger: Pick<RunLedger, 'readPages'>,
  ref: RunRef,
  cursor: EventCursor,
  field: string,
): Promise<LogPage | undefined> {
  if (cursor.index === 0) return undefined;
  const [page] = await ledger.readPages(ref, cursor.index - 1, 1);
  requirePlace(page, cursor, field);
  return page;
}

/** A reader of a place that is not there yet would wait for ever, and then miss what comes before it. */
function requirePlace(page: LogPage | undefined, { index, offset }: EventCursor, field: string) {
  if (index === 0) return;
  if (page?.index !== index || offset >= page.events.length) {
    throw invalidCursor('this cursor points behind the end of the log', field);
  }
}
