import { describe, expect, it } from 'vitest';
import type {
  AppendReply,
  AppendRequest,
  NewEvent,
  UploadBlobRequest,
} from '#shared/contracts/index.ts';
import { EventPump } from '#shared/runtime/event-pump.ts';
import { GatewayRefused, GatewayUnreachable } from '#shared/runtime/gateway-client.ts';
import { noticeEvent } from '#test/support/run-builders.ts';
import { delta, manualClock, memorySpool } from './support.ts';

/** A gateway whose answers the test gives one by one. */
function scriptedGateway() {
  const requests: AppendRequest[] = [];
  const answers: ((reply: AppendReply | Error) => void)[] = [];
  const waiting: (() => void)[] = [];
  return {
    requests,
    send: (request: AppendRequest, signal: AbortSignal) => {
      requests.push(request);
      for (const resolve of waiting.splice(0)) resolve();
      return new Promise<AppendReply>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        answers.push((reply) => (reply instanceof Error ? reject(reply) : resolve(reply)));
      });
    },
    async request() {
      while (answers.length === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    async answer(reply: Partial<AppendReply> | Error = {}) {
      await this.request();
      answers.shift()?.(
        reply instanceof Error
          ? reply
          : { cursor: `c${requests.length}`, storedThrough: 0, directives: [], ...reply },
      );
    },
  };
}

const never = new AbortController().signal;

function pumpOver(
  gateway: { send: ReturnType<typeof scriptedGateway>['send'] },
  options: Partial<ConstructorParameters<typeof EventPump>[0]> = {},
) {
  const failures: unknown[] = [];
  const faults: unknown[] = [];
  const directives: unknown[] = [];
  const clock = manualClock();
  const pump = new EventPump({
    cursor: 'c0',
    send: gateway.send,
    upload: async () => {},
    isReachable: () => true,
    onDirective: (directive) => directives.push(directive),
    onFailure: (error) => failures.push(error),
    onFault: (error) => faults.push(error),
    clock,
    ...options,
  });
  return { pump, failures, faults, directives, clock };
}

const textsOf = (events: readonly NewEvent[]) =>
  events.map(({ eventType, payload }) => {
    const { text, message } = payload as { text?: string; message?: string };
    return text ?? message ?? eventType;
  });

describe('event pump', () => {
  it('sends an event of the execution family at once and collects what comes meanwhile', async () => {
    const gateway = scriptedGateway();
    const { pump } = pumpOver(gateway);
    await pump.push([noticeEvent('one')]);
    await gateway.request();
    await pump.push([delta('two')]);
    await pump.push([delta('three')]);
    expect(gateway.requests).toHaveLength(1);
    const drained = pump.drain(never);
    await gateway.answer();
    expect(await drained).toEqual({
      cursor: 'c1',
      batch: { firstProducerSequence: 2, events: [delta('two'), delta('three')] },
    });
  });

  it('does not hurry for native events, which an engine prints for every word', async () => {
    const gateway = scriptedGateway();
    const { pump } = pumpOver(gateway, { firstFlushMs: 60_000 });
    const native = {
      ...noticeEvent('n'),
      eventType: 'engine.word',
      source: 'engine_native',
    } as const;
    await pump.push([native]);
    expect(await pump.drain(never)).toMatchObject({ batch: { events: [native] } });
    expect(gateway.requests).toEqual([]);
  });

  it('sends the first event after a quiet time soon, and a stream in few batches', async () => {
    const gateway = scriptedGateway();
    const { pump, clock } = pumpOver(gateway, { firstFlushMs: 1, flushAfterMs: 30_000 });
    clock.pass(60_000);
    await pump.push([delta('first')]);
    await gateway.answer();
    clock.pass(1_000);
    // Nothing sends these before the next half minute: they wait for each other.
    for (const text of ['a', 'b', 'c']) await pump.push([delta(text)]);
    const { batch } = await pump.drain(never);
    expect(textsOf(batch.events)).toEqual(['a', 'b', 'c']);
    expect(gateway.requests.map(({ batch: { events } }) => textsOf(events))).toEqual([['first']]);
  });

  it('continues with the cursor of the reply and counts on from what was stored', async () => {
    const gateway = scriptedGateway();
    const { pump } = pumpOver(gateway);
    await pump.push([noticeEvent('a'), noticeEvent('b')]);
    await gateway.answer();
    await pump.push([noticeEvent('c')]);
    const drained = pump.drain(never);
    await gateway.answer();
    await drained;
    expect(
      gateway.requests.map(({ cursor, batch }) => [cursor, batch.firstProducerSequence]),
    ).toEqual([
      ['c0', 1],
      ['c1', 3],
    ]);
  });

  it('makes its producer wait for memory while the gateway stores', async () => {
    const gateway = scriptedGateway();
    const { pump } = pumpOver(gateway, { flushBytes: 10, memoryBytes: 500, stallMs: 60_000 });
    let released = false;
    const pushed = pump.push([delta('x'.repeat(1_000))]).then(() => {
      released = true;
    });
    await gateway.request();
    expect(released).toBe(false);
    await gateway.answer();
    await pushed;
    expect(released).toBe(true);
  });

  it('passes directives of a reply on', async () => {
    const gateway = scriptedGateway();
    const { pump, directives } = pumpOver(gateway);
    await pump.push([noticeEvent('a')]);
    const drained = pump.drain(never);
    await gateway.answer({ directives: [{ kind: 'cancel', reason: 'enough' }] });
    await drained;
    expect(directives).toEqual([{ kind: 'cancel', reason: 'enough' }]);
  });

  it('tells of a loss of authority once and takes no more', async () => {
    const gateway = scriptedGateway();
    const { pump, failures } = pumpOver(gateway);
    await pump.push([noticeEvent('a')]);
    const failure = new Error('gone');
    await gateway.answer(failure);
    await pump.drain(never);
    await pump.push([noticeEvent('b')]);
    expect(failures).toEqual([failure]);
    expect(gateway.requests).toHaveLength(1);
  });
});

describe('events that the gateway refuses', () => {
  it('B109 finds the one it will not take, stores all others and says what is missing', async () => {
    const stored: NewEvent[] = [];
    const { pump, failures, faults } = pumpOver({
      send: async ({ batch }) => {
        if (textsOf(batch.events).includes('poison')) throw new GatewayRefused(400, 'x', 'no');
        stored.push(...batch.events);
        return { cursor: 'c', storedThrough: 0, directives: [] };
      },
    });
    const texts = ['1', '2', '3', 'poison', '5', '6', '7'];
    await pump.push([...texts, 'last'].map((text) => noticeEvent(text)));
    await expect.poll(() => textsOf(stored).at(-1)).toBe('last');
    expect(textsOf(stored)).toEqual(['1', '2', '3', 'events.lost', '5', '6', '7', 'last']);
    expect(stored[3]?.payload).toMatchObject({
      reason: 'refused',
      count: 1,
      firstProduced: 4,
      lastProduced: 4,
      types: { 'execution.diagnostic': 1 },
    });
    expect(failures).toEqual([]);
    expect(faults.length).toBeGreaterThan(0);
    expect(pump.pending.lostEvents).toBe(1);
  });

  it('leaves the result without events when its place in the log is refused', async () => {
    const gateway = scriptedGateway();
    const { pump, failures } = pumpOver(gateway);
    await pump.push([noticeEvent('a')]);
    await gateway.answer(new GatewayRefused(400, 'invalid_cursor', 'no'));
    expect(await pump.drain(never)).toMatchObject({ batch: { events: [] } });
    expect(failures).toEqual([]);
  });
});

describe('events too large for the log', () => {
  const large = { ...delta('x'.repeat(300_000)), eventType: 'message.completed' };

  it('keeps the payload as a blob and stores a pointer with a preview in its place', async () => {
    const gateway = scriptedGateway();
    const uploads: UploadBlobRequest[] = [];
    const { pump } = pumpOver(gateway, {
      upload: async (request) => uploads.push(request),
    });
    await pump.push([noticeEvent('a'), large, noticeEvent('b')]);
    await gateway.answer();
    await gateway.answer();
    await pump.drain(never);
    const stored = gateway.requests.flatMap(({ batch }) => batch.events);
    expect(stored.map(({ eventType }) => eventType)).toEqual([
      'execution.diagnostic',
      'message.completed',
      'execution.diagnostic',
    ]);
    const [upload] = uploads;
    expect(stored[1]).toMatchObject({
      blob: upload?.blob,
      payload: { messageId: 'm', text: `${'x'.repeat(1_000)}…` },
    });
    expect(upload?.blob.bytes).toBe(JSON.stringify(large.payload).length);
  });

  it('says what is missing when no blob may be so large', async () => {
    const gateway = scriptedGateway();
    const { pump } = pumpOver(gateway);
    await pump.push([delta('y'.repeat(5 * 1024 * 1024)), noticeEvent('b')]);
    await gateway.answer();
    await pump.drain(never);
    expect(gateway.requests[0]?.batch.events).toMatchObject([
      { eventType: 'events.lost', payload: { reason: 'too_large', types: { 'message.delta': 1 } } },
      noticeEvent('b'),
    ]);
  });

  it('goes on without it when only the store of blobs fails, and waits in an outage', async () => {
    const gateway = scriptedGateway();
    let reachable = false;
    let tries = 0;
    const { pump } = pumpOver(gateway, {
      isReachable: () => reachable,
      upload: async () => {
        tries += 1;
        // The outage ends, but the store of blobs stays away.
        reachable = tries === 3;
        throw new GatewayUnreachable('503');
      },
    });
    await pump.push([large, noticeEvent('b')]);
    await gateway.answer();
    await pump.drain(never);
    expect(tries).toBe(3);
    expect(gateway.requests[0]?.batch.events).toMatchObject([
      { eventType: 'events.lost', payload: { reason: 'gateway_failed' } },
      noticeEvent('b'),
    ]);
  });
});

describe('a gateway that has stalled', () => {
  const KB100 = 'z'.repeat(100 * 1024);

  function stalledPump(spoolBytes: number) {
    const gateway = scriptedGateway();
    const spool = memorySpool();
    const opened = pumpOver(gateway, {
      spool: { store: spool, bytes: spoolBytes },
      memoryBytes: 200 * 1024,
      stallMs: 10_000,
    });
    return { gateway, spool, ...opened };
  }

  /** Answers whatever is asked until the pump is drained; gives what was stored, in order. */
  async function storeAll({ gateway, pump }: ReturnType<typeof stalledPump>) {
    let done = false;
    const drained = pump.drain(never).finally(() => {
      done = true;
    });
    while (!done) await Promise.race([gateway.answer(), drained]);
    const { batch } = await drained;
    const sent = new Map<number, NewEvent>();
    for (const request of [...gateway.requests.map((r) => r.batch), batch]) {
      for (const [offset, event] of request.events.entries()) {
        sent.set(request.firstProducerSequence + offset, event);
      }
    }
    return [...sent.entries()].sort(([a], [b]) => a - b).map(([, event]) => event);
  }

  it('lets the engine go on with the disk as memory, and loses nothing', async () => {
    const bench = stalledPump(10 * 1024 * 1024);
    await bench.pump.push([noticeEvent('0')]);
    await bench.gateway.request();
    bench.clock.pass(10_000);
    const texts = Array.from({ length: 20 }, (_, n) => `${n + 1}${KB100}`);
    for (const text of texts) await bench.pump.push([delta(text)]);
    expect(bench.pump.pending.spoolBytes).toBeGreaterThan(1_500_000);
    expect(bench.spool.files.size).toBeGreaterThan(10);
    const stored = await storeAll(bench);
    expect(textsOf(stored)).toEqual(['0', ...texts]);
    expect(bench.spool.files.size).toBe(0);
    expect(bench.pump.pending).toMatchObject({ pendingEvents: 0, lostEvents: 0, spoolBytes: 0 });
  });

  it('B109 drops typed text first when the disk is full too, and says what is missing in its place', async () => {
    const bench = stalledPump(500 * 1024);
    await bench.pump.push([noticeEvent('0')]);
    await bench.gateway.request();
    bench.clock.pass(10_000);
    for (let n = 1; n <= 20; n += 1) {
      await bench.pump.push([delta(`${n}${KB100}`)]);
      await bench.pump.push([{ ...noticeEvent(`say ${n}`), family: 'domain' }]);
    }
    expect(bench.pump.pending.spoolBytes).toBeLessThanOrEqual(500 * 1024);
    const stored = await storeAll(bench);
    const said = textsOf(stored).filter((text) => text.startsWith('say'));
    expect(said).toEqual(Array.from({ length: 20 }, (_, n) => `say ${n + 1}`));
    const deltas = stored.filter(({ eventType }) => eventType === 'message.delta');
    const losses = stored.filter(({ eventType }) => eventType === 'events.lost');
    expect(losses).toHaveLength(1);
    expect(losses[0]?.payload).toMatchObject({
      reason: 'spool_full',
      count: 20 - deltas.length,
      types: { 'message.delta': 20 - deltas.length },
    });
    expect(deltas.length).toBeLessThan(20);
    // The first that is missing would stand here.
    const at = stored.findIndex(({ eventType }) => eventType === 'events.lost');
    const before = stored.slice(0, at).filter(({ eventType }) => eventType === 'message.delta');
    expect(textsOf(before)).toEqual(before.map((_, n) => `${n + 1}${KB100}`));
    expect(textsOf(stored.slice(at + 1, at + 2))).toEqual([`say ${before.length + 1}`]);
  });

  it('B109 ends with what could be stored when events are given up, and says what is missing', async () => {
    const bench = stalledPump(10 * 1024 * 1024);
    await bench.pump.push([noticeEvent('sent in vain')]);
    await bench.gateway.request();
    bench.clock.pass(10_000);
    for (let n = 1; n <= 10; n += 1) await bench.pump.push([delta(`${n}${KB100}`)]);
    const giveUp = new AbortController();
    const drained = bench.pump.drain(giveUp.signal);
    giveUp.abort();
    const { cursor, batch } = await drained;
    expect(cursor).toBe('c0');
    expect(batch.firstProducerSequence).toBe(1);
    expect(textsOf(batch.events)).toEqual([
      'sent in vain',
      `1${KB100}`,
      `2${KB100}`,
      'events.lost',
    ]);
    expect(batch.events.at(-1)?.payload).toMatchObject({
      reason: 'gateway_failed',
      count: 8,
      firstProduced: 4,
      lastProduced: 11,
    });
  });
});
