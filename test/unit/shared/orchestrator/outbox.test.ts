import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentEvent } from '#shared/contracts/index.ts';
import { EventBridgeEventBus } from '#shared/orchestrator/eventbridge-event-bus.ts';
import {
  type BusEvent,
  type EventBus,
  type OutboxPage,
  relayOutbox,
} from '#shared/orchestrator/index.ts';
import { toAgentEvents } from '#shared/runs/index.ts';
import { noticeEvent } from '#test/support/run-builders.ts';

const RUN = 'run_01J00000000000000000000000';
const log = { info() {}, warn() {}, error() {} };

function events(count: number, change: Partial<AgentEvent> = {}): AgentEvent[] {
  return toAgentEvents(RUN, {
    index: 1,
    kind: 'events',
    epoch: 1,
    producer: 'host',
    producerFirst: 1,
    first: 1,
    events: Array.from({ length: count }, (_, n) => noticeEvent(`event ${n}`)),
    traceId: '0af7651916cd43dd8448eb211c80319c',
  }).map((event) => ({ ...event, ...change }));
}

const page = (record: string, list: AgentEvent[]): OutboxPage => ({
  record,
  tenantId: 'acme',
  events: list,
});

/** A bus that refuses by a script: for each call, the places it does not take. */
function scriptedBus(refusals: number[][]): EventBus & { calls: string[][] } {
  const calls: string[][] = [];
  return {
    calls,
    async publish(list: readonly BusEvent[]) {
      calls.push(list.map(({ event }) => event.eventId));
      return refusals.shift() ?? [];
    },
  };
}

describe('relay', () => {
  it('TRM-6 publishes pages in order and says nothing when all is out', async () => {
    const bus = scriptedBus([]);
    const waits: number[] = [];
    const pages = [page('1', events(2)), page('2', events(1))];
    expect(
      await relayOutbox({ bus, log, wait: async (ms) => void waits.push(ms) }, pages),
    ).toBeUndefined();
    expect(bus.calls).toEqual([[`${RUN}.1`, `${RUN}.2`], [`${RUN}.1`]]);
    expect(waits).toEqual([]);
  });

  it('B67 tries only what was refused again, under the same id (B68)', async () => {
    const bus = scriptedBus([[1], []]);
    expect(
      await relayOutbox({ bus, log, wait: async () => {} }, [page('1', events(3))]),
    ).toBeUndefined();
    expect(bus.calls).toEqual([[`${RUN}.1`, `${RUN}.2`, `${RUN}.3`], [`${RUN}.2`]]);
  });

  it('gives the batch back from the page that cannot be published, with what is before it done', async () => {
    const bus = scriptedBus([[], [0], [0], [0], [0]]);
    const pages = [page('1', events(1)), page('2', events(1)), page('3', events(1))];
    expect(await relayOutbox({ bus, log, wait: async () => {} }, pages)).toBe('2');
    expect(bus.calls).toHaveLength(5);
  });

  it('keeps presentation and native events to the log', async () => {
    const bus = scriptedBus([]);
    const list = [
      ...events(1, { family: 'presentation' }),
      ...events(1, { source: 'engine_native' }),
    ];
    await relayOutbox({ bus, log, wait: async () => {} }, [page('1', list)]);
    expect(bus.calls).toEqual([]);
  });
});

describe('EventBridge', () => {
  const client = mockClient(EventBridgeClient);
  beforeEach(() => client.reset());
  const bus = new EventBridgeEventBus(new EventBridgeClient({ region: 'us-east-1' }), 'the-bus');

  it('B67 reads the refusals inside a 200 answer, over several calls', async () => {
    client
      .on(PutEventsCommand)
      .resolvesOnce({
        FailedEntryCount: 1,
        Entries: Array.from({ length: 10 }, (_, n) =>
          n === 3 ? { ErrorCode: 'ThrottlingException' } : { EventId: 'e' },
        ),
      })
      .resolvesOnce({
        FailedEntryCount: 1,
        Entries: [{ EventId: 'e' }, { ErrorCode: 'InternalFailure' }],
      });
    const list = events(12).map((event) => ({ tenantId: 'acme', event }));
    expect(await bus.publish(list)).toEqual([3, 11]);
  });

  it('sends an event that is too large without its payload, and says so', async () => {
    client.on(PutEventsCommand).resolves({ Entries: [{ EventId: 'e' }] });
    const [event] = events(1, { payload: 'x'.repeat(300_000) });
    if (!event) throw new Error('no event');
    await bus.publish([{ tenantId: 'acme', event }]);
    const entry = client.commandCalls(PutEventsCommand)[0]?.args[0].input.Entries?.[0];
    expect(entry).toMatchObject({
      EventBusName: 'the-bus',
      Source: 'nexusdesk.runs',
      DetailType: 'execution.diagnostic',
    });
    expect(JSON.parse(entry?.Detail ?? '')).toMatchObject({
      tenantId: 'acme',
      eventId: `${RUN}.1`,
      payload: null,
      payloadOmitted: true,
    });
  });
});
