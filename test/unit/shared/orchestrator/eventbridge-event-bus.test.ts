import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { type AgentEvent, PLATFORM_EVENTS } from '#shared/contracts/index.ts';
import { EventBridgeEventBus } from '#shared/orchestrator/eventbridge-event-bus.ts';
import { toAgentEvents } from '#shared/runs/index.ts';
import { noticeEvent } from '#test/support/run-builders.ts';

const RUN = 'run_01J00000000000000000000000';
const OTHER = 'run_01J00000000000000000000001';

function events(runId: string, count: number, change: Partial<AgentEvent> = {}) {
  return toAgentEvents(runId, {
    index: 1,
    kind: 'events',
    epoch: 1,
    producer: 'host',
    producerFirst: 1,
    first: 1,
    events: Array.from({ length: count }, (_, n) => noticeEvent(`event ${n}`)),
    traceId: '0af7651916cd43dd8448eb211c80319c',
  }).map((event) => ({ tenantId: 'acme', event: { ...event, ...change } }));
}

const taken = (count: number) => Array.from({ length: count }, () => ({ EventId: 'e' }));

describe('EventBridge', () => {
  const client = mockClient(EventBridgeClient);
  beforeEach(() => client.reset());
  const bus = new EventBridgeEventBus(new EventBridgeClient({ region: 'us-east-1' }), 'the-bus');
  const calls = () =>
    client.commandCalls(PutEventsCommand).map(({ args }) => args[0].input.Entries ?? []);

  it('B67 reads the refusals inside a 200 answer, and tells a wrong entry from one that may pass', async () => {
    client.on(PutEventsCommand).resolvesOnce({
      FailedEntryCount: 3,
      Entries: taken(10).map((entry, n) => {
        if (n === 3) return { ErrorCode: 'ThrottlingException' };
        if (n === 5) return { ErrorCode: 'InternalFailure' };
        return n === 9 ? { ErrorCode: 'MalformedDetail' } : entry;
      }),
    });
    expect(await bus.publish(events(RUN, 10))).toEqual([
      { index: 3, cause: 'busy', code: 'ThrottlingException' },
      { index: 5, cause: 'fault', code: 'InternalFailure' },
      { index: 9, cause: 'entry', code: 'MalformedDetail' },
    ]);
  });

  it('TRM-6 sends nothing more of a run behind its refused event, and goes on with the others', async () => {
    client
      .on(PutEventsCommand)
      .resolvesOnce({ Entries: [...taken(9), { ErrorCode: 'InternalFailure' }] })
      .resolves({ Entries: taken(10) });
    const refused = await bus.publish([...events(RUN, 12), ...events(OTHER, 2)]);
    expect(refused.map(({ index }) => index)).toEqual([9, 10, 11]);
    expect(calls()[1]?.map(({ Resources }) => Resources)).toEqual([[OTHER], [OTHER]]);
  });

  it('takes an entry without an answer for refused', async () => {
    client.on(PutEventsCommand).resolves({ Entries: taken(1) });
    expect(await bus.publish(events(RUN, 2))).toMatchObject([{ index: 1, cause: 'fault' }]);
  });

  it('answers for everything it did not send when a call gets no answer', async () => {
    client.on(PutEventsCommand).rejects(Object.assign(new Error('no'), { name: 'TimeoutError' }));
    const refused = await bus.publish([...events(RUN, 10), ...events(OTHER, 3)]);
    expect(refused).toHaveLength(13);
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['TimeoutError']));
    expect(calls()).toHaveLength(1);
  });

  it('keeps within the size that one call may have in any region', async () => {
    client.on(PutEventsCommand).callsFake(({ Entries }) => ({ Entries: taken(Entries.length) }));
    expect(await bus.publish(events(RUN, 4, { payload: 'x'.repeat(100_000) }))).toEqual([]);
    const sizes = calls().map((entries) =>
      entries.reduce((sum, { Detail = '' }) => sum + Buffer.byteLength(Detail), 0),
    );
    expect(sizes).toHaveLength(2);
    expect(Math.max(...sizes)).toBeLessThan(256 * 1024);
  });

  it('B67 sends an event that is too large without its payload, and says so', async () => {
    client.on(PutEventsCommand).resolves({ Entries: taken(1) });
    await bus.publish(events(RUN, 1, { payload: 'x'.repeat(300_000) }));
    const [[entry] = []] = calls();
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

  it('B67 has no detail type that the bus would refuse for its length', () => {
    const longest = Math.max(...Object.keys(PLATFORM_EVENTS).map((type) => type.length));
    expect(longest).toBeLessThanOrEqual(128);
  });
});
