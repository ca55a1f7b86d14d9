import {
  type EventBridgeClient,
  PutEventsCommand,
  type PutEventsRequestEntry,
} from '@aws-sdk/client-eventbridge';
import { BUS_EVENT_SOURCE } from '#shared/topology/index.ts';
import type { BusEvent, BusRefusal, EventBus } from './event-bus.ts';

const ENTRIES_PER_CALL = 10;
/** Of all entries of one call, as the bus counts them: 256 KiB is the smallest limit that any region has. */
const MAX_CALL_BYTES = 256 * 1024;
/** So that an event without its payload still leaves room for what is counted beside it. */
const MAX_DETAIL_BYTES = 200 * 1024;
/** What `Time` counts for. */
const TIME_BYTES = 14;

type Reason = Omit<BusRefusal, 'index'>;

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

  async publish(events: readonly BusEvent[]): Promise<readonly BusRefusal[]> {
    const refused = new Map<number, BusRefusal>();
    /** By run: why nothing more of it is sent in this publication. */
    const held = new Map<string, Reason>();
    let waiting = events.map((event, index) => ({ index, event, entry: this.#toEntry(event) }));
    while (waiting.length > 0) {
      const call = waiting.slice(0, callLength(waiting.map(({ entry }) => entry)));
      const { answers, unanswered } = await this.#put(call.map(({ entry }) => entry));
      for (const [place, { index, event }] of call.entries()) {
        const reason = answers[place];
        if (!reason) continue;
        refused.set(index, { index, ...reason });
        held.set(runOf(event), reason);
      }
      waiting = waiting.slice(call.length).filter(({ index, event }) => {
        // The service or the way to it is down: further calls would only wait as long each.
        const reason = unanswered ?? held.get(runOf(event));
        if (reason) refused.set(index, { index, ...reason });
        return !reason;
      });
    }
    return [...refused.values()].toSorted((a, b) => a.index - b.index);
  }

  async #put(entries: PutEventsRequestEntry[]): Promise<{
    /** Per entry: undefined when it was taken. */
    answers: (Reason | undefined)[];
    unanswered?: Reason;
  }> {
    try {
      const reply = await this.#client.send(new PutEventsCommand({ Entries: entries }));
      // The answer is 200 also when entries were refused.
      const answers = entries.map((_, place) => {
        const answer = reply.Entries?.[place];
        return answer && !answer.ErrorCode
          ? undefined
          : reasonOf(answer?.ErrorCode ?? 'EntryNotAnswered');
      });
      return { answers };
    } catch (error) {
      const unanswered = reasonOf(error instanceof Error ? error.name : 'Unknown');
      return { answers: entries.map(() => unanswered), unanswered };
    }
  }

  #toEntry({ tenantId, event }: BusEvent): PutEventsRequestEntry {
    return {
      EventBusName: this.#busName,
      Source: BUS_EVENT_SOURCE,
      DetailType: event.eventType,
      Time: new Date(event.timestamp),
      Resources: [event.executionId],
      Detail: detailOf(tenantId, event),
    };
  }
}

/** How many entries fit into the next call: as number and size allow, and at least one. */
function callLength(entries: readonly PutEventsRequestEntry[]): number {
  let bytes = 0;
  const within = entries.slice(0, ENTRIES_PER_CALL).findIndex((entry) => {
    bytes += sizeOf(entry);
    return bytes > MAX_CALL_BYTES;
  });
  return within < 0 ? ENTRIES_PER_CALL : Math.max(1, within);
}

function sizeOf(entry: PutEventsRequestEntry): number {
  const texts = [entry.Source, entry.DetailType, entry.Detail, ...(entry.Resources ?? [])];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), TIME_BYTES);
}

const runOf = ({ tenantId, event }: BusEvent) => `${tenantId}#${event.executionId}`;

const reasonOf = (code: string): Reason => ({ cause: causeOf(code), code });

/**
 * What EventBridge documents as not retryable and lies in the entry. A missing permission is not retryable either, but
 * it is the deployment's fault and hits every entry: those wait until it is mended.
 */
const WRONG_ENTRIES = ['InvalidArgument', 'MalformedDetail', 'RedactionFailure'];

function causeOf(code: string): BusRefusal['cause'] {
  if (WRONG_ENTRIES.includes(code)) return 'entry';
  return /throttl/i.test(code) ? 'busy' : 'fault';
}

function detailOf(tenantId: string, event: BusEvent['event']): string {
  const whole = JSON.stringify({ tenantId, ...event });
  if (Buffer.byteLength(whole) <= MAX_DETAIL_BYTES) return whole;
  return JSON.stringify({ tenantId, ...event, payload: null, payloadOmitted: true });
}
