import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { BUS_EVENT_SOURCE } from '#shared/topology/index.ts';
import type { BusEvent, EventBus } from './ports.ts';

const ENTRIES_PER_CALL = 10;
/** Under the smallest limit any region has for one entry. */
const MAX_DETAIL_BYTES = 200 * 1024;

/**
 * The platform's bus. `Detail` is the stored event and its tenant; `event.eventId` is the same on every publication.
 * An event too large for the bus goes out without its payload (`payloadOmitted`), readable by its cursor.
 */
export class EventBridgeEventBus implements EventBus {
  readonly #client: EventBridgeClient;
  readonly #busName: string;

  constructor(client: EventBridgeClient, busName: string) {
    this.#client = client;
    this.#busName = busName;
  }

  async publish(events: readonly BusEvent[]): Promise<readonly number[]> {
    const refused: number[] = [];
    for (let start = 0; start < events.length; start += ENTRIES_PER_CALL) {
      const part = events.slice(start, start + ENTRIES_PER_CALL);
      const reply = await this.#client.send(
        new PutEventsCommand({
          Entries: part.map(({ tenantId, event }) => ({
            EventBusName: this.#busName,
            Source: BUS_EVENT_SOURCE,
            DetailType: event.eventType,
            Time: new Date(event.timestamp),
            Resources: [event.executionId],
            Detail: detailOf(tenantId, event),
          })),
        }),
      );
      // The answer is 200 also when entries were refused.
      reply.Entries?.forEach((entry, index) => {
        if (entry.ErrorCode) refused.push(start + index);
      });
    }
    return refused;
  }
}

function detailOf(tenantId: string, event: BusEvent['event']): string {
  const whole = JSON.stringify({ tenantId, ...event });
  if (Buffer.byteLength(whole) <= MAX_DETAIL_BYTES) return whole;
  return JSON.stringify({ tenantId, ...event, payload: null, payloadOmitted: true });
}
