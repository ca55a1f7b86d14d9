import type { AgentEvent } from '#shared/contracts/index.ts';
import { backoffMs } from '#shared/kit/backoff.ts';
import type { BusEvent, EventBus, Logger } from './ports.ts';

/** One stored log page, as the table's stream tells of it. */
export interface OutboxPage {
  /** Sequence number of the stream record, to say where a retry must begin. */
  readonly record: string;
  readonly tenantId: string;
  readonly events: readonly AgentEvent[];
}

const TRIES = 4;

/**
 * TRM-6: publishes stored events, in the order of each run, at least once. Answers the record from which the batch
 * must be delivered again, or undefined when all is out. An entry the bus refuses holds back only what is behind it.
 */
export async function relayOutbox(
  deps: { bus: EventBus; log: Logger; wait: (ms: number) => Promise<void> },
  pages: readonly OutboxPage[],
): Promise<string | undefined> {
  for (const page of pages) {
    let pending: BusEvent[] = page.events
      .filter(isPublished)
      .map((event) => ({ tenantId: page.tenantId, event }));
    for (let attempt = 0; pending.length > 0; attempt += 1) {
      const refused = await deps.bus.publish(pending);
      pending = pending.filter((_, index) => refused.includes(index));
      if (pending.length === 0) break;
      if (attempt + 1 >= TRIES) {
        deps.log.error(
          { record: page.record, refused: pending.map(({ event }) => event.eventId) },
          'events not published',
        );
        return page.record;
      }
      await deps.wait(backoffMs(attempt, { baseMs: 100, maxMs: 2_000 }));
    }
  }
  return undefined;
}

/** The bus carries what others act on: not the text as it is typed, not the engines' own dialects. */
function isPublished(event: AgentEvent): boolean {
  return event.source === 'platform' && event.family !== 'presentation';
}
