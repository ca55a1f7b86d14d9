import type { AwsJsonService, AwsOperation } from '../kit/aws-endpoint.ts';
import { atomically, type StateDatabase } from '../kit/state-database.ts';
import { compileEventPattern } from './event-pattern.ts';
import { type Deliver, Outbox, type ParkedDelivery } from './outbox.ts';
import { checkEntries, entryErrorOf, envelopeOf, validationError } from './put-events.ts';
import { ruleOperations } from './rule-operations.ts';
import { busNameOf, DEFAULT_BUS, Rules } from './rules.ts';

export interface EventsOptions {
  /** Holds buses, rules and deliveries under way, so that a killed process loses no event. */
  readonly state: StateDatabase;
  readonly region: string;
  readonly accountId: string;
  /** Brings one event to one target; rejects when it has to be tried again. May get an event twice. */
  readonly deliver: Deliver;
  /** Milliseconds since 1970; the system clock when omitted. */
  readonly now?: () => number;
  /** Attempts before a delivery is dead-lettered or parked; 10 when omitted. */
  readonly maxAttempts?: number;
  /** Wait after a number of failed attempts; doubles from 100 ms to 30 s when omitted. */
  readonly retryDelayMs?: (attempts: number) => number;
}

/** An event that a service of AWS itself would put on the default bus, for example ECS. */
export interface ServiceEvent {
  readonly source: string;
  readonly detailType: string;
  readonly detail: object;
  readonly resources?: readonly string[];
}

export interface EventsEmulator extends AwsJsonService {
  /** Puts an event on the default bus and returns its id; unlike `PutEvents` it takes sources `aws.*`. */
  publish(event: ServiceEvent): string;
  /** Deliveries given up, oldest first. */
  parked(): readonly ParkedDelivery[];
  /** Tries all parked deliveries again; returns how many. */
  redrive(): number;
}

/**
 * An embedded Amazon EventBridge: buses, rules with event patterns, and delivery at least once with retries,
 * out of a durable outbox. An event is stored before it is acknowledged. Schedules and input transformers are
 * refused, not ignored.
 */
export function openEvents(options: EventsOptions): EventsEmulator {
  const { state, now = Date.now, maxAttempts = 10, retryDelayMs = doubling } = options;
  const rules = new Rules(state, now());
  const outbox = new Outbox({ state, deliver: options.deliver, now, maxAttempts, retryDelayMs });

  const operations: Record<string, AwsOperation> = {
    ...ruleOperations({ rules, now, region: options.region, accountId: options.accountId }),

    PutEvents({ Entries }) {
      const entries = checkEntries(Entries);
      const results = atomically(state, () =>
        entries.map((entry) => {
          const error = entryErrorOf(entry);
          if (error) return error;
          const event = envelopeOf(entry, options, now());
          const bus = busNameOf(entry.EventBusName);
          if (rules.findBus(bus)) outbox.add(event, rules.matching(bus, event));
          // AWS accepts such an event and drops it; here somebody may be looking for it.
          else console.error(`local events: no bus ${bus}, dropped an event of ${event.source}`);
          return { EventId: event.id };
        }),
      );
      outbox.pump();
      return {
        FailedEntryCount: results.filter((result) => 'ErrorCode' in result).length,
        Entries: results,
      };
    },

    TestEventPattern({ EventPattern, Event }) {
      const fits = compileEventPattern(String(EventPattern ?? ''));
      return { Result: fits(parseTestEvent(String(Event ?? ''))) };
    },
  };

  return {
    targetPrefixes: ['AWSEvents'],
    jsonVersion: '1.1',
    operations,
    publish({ source, detailType, detail, resources = [] }) {
      const entry = {
        Source: source,
        DetailType: detailType,
        Detail: JSON.stringify(detail),
        Resources: resources,
      };
      const event = envelopeOf(entry, options, now());
      atomically(state, () => outbox.add(event, rules.matching(DEFAULT_BUS, event)));
      outbox.pump();
      return event.id;
    },
    parked: () => outbox.parked(),
    redrive: () => outbox.redrive(),
    close: () => outbox.close(),
  };
}

const doubling = (attempts: number): number => Math.min(30_000, 50 * 2 ** attempts);

const TEST_EVENT_FIELDS = ['id', 'account', 'source', 'time', 'region', 'resources', 'detail-type'];

function parseTestEvent(text: string): unknown {
  let event: unknown;
  try {
    event = JSON.parse(text);
  } catch {
    throw validationError('Parameter Event is not valid. Reason: Event is not valid JSON.');
  }
  const missing = TEST_EVENT_FIELDS.find(
    (field) => typeof event !== 'object' || event === null || !Object.hasOwn(event, field),
  );
  if (missing) {
    throw validationError(
      `Parameter Event is not valid. Reason: ${missing} is a required argument.`,
    );
  }
  return event;
}
