import type { AgentEvent } from '#shared/contracts/index.ts';
import { type EventCursor, encodeEventCursor } from './event-cursor.ts';
import { toAgentEvents } from './log-page.ts';
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

/** Reads on from a cursor, at least one page where there is one; `limit` bounds the events of one answer. */
export async function readEvents(
  ledger: RunLedger,
  ref: RunRef,
  after: EventCursor,
  limit: number,
): Promise<ReadEvents> {
  const events: { event: AgentEvent; cursor: string }[] = [];
  // The page of the cursor itself is read again when it was left half way.
  const pages = await ledger.readPages(ref, Math.max(0, after.index - 1), PAGES_PER_READ);
  let next = after;
  for (const page of pages) {
    const all = toAgentEvents(ref.runId, page);
    const from = page.index === after.index ? after.offset + 1 : 0;
    for (let offset = from; offset < all.length; offset += 1) {
      if (events.length >= limit) return { events, next, complete: false };
      next = { index: page.index, offset };
      const event = all[offset];
      if (event) events.push({ event, cursor: encodeEventCursor(next) });
    }
    if (page.kind === 'final') return { events, next, complete: true };
  }
  return { events, next, complete: false };
}
