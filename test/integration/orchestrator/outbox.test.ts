import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { redrivePages } from '#shared/orchestrator/index.ts';
import { pageKey } from '#shared/runs/dynamo-run-item.ts';
import type { RunHead } from '#shared/runs/index.ts';
import { at } from '#test/support/run-builders.ts';
import { openStreamBench, type StreamBench } from '#test/support/stream-bench.ts';
import { relayOutboxHandler } from '../../../functions/workers/relay-outbox/handler.ts';

let bench: StreamBench;
beforeEach(async () => {
  bench = await openStreamBench();
});
afterEach(() => bench.close());

const PATIENCE = { timeout: 10_000 };

const startRelay = (extra: Parameters<StreamBench['follow']>[2] = {}) =>
  bench.follow('relay-outbox', relayOutboxHandler(bench.relay), extra);

/** A run of three pages: queued, then two notices each. Its events are 1, 2 3, 4 5. */
async function runOfThreePages(): Promise<RunHead> {
  const head = await bench.claim(await bench.accept());
  await bench.append(head, 2);
  await bench.append(head, 2);
  return head;
}

const redriveParked = () => redrivePages(bench.redrive, { action: 'parked' });
const list = () => redrivePages(bench.redrive, { action: 'list' });

describe('TRM-6 outbox', () => {
  it('brings everything that was stored to the bus, each run in its order, past refusals that pass', async () => {
    const refusedOnce = new Set<string>();
    bench.bus.refuses = (id) => {
      // Every third event of each run, once.
      if (Number(id.split('.')[1]) % 3 !== 0 || refusedOnce.has(id)) return undefined;
      refusedOnce.add(id);
      return 'fault';
    };
    startRelay({ batchSize: 7 });
    const runs = await Promise.all(Array.from({ length: 5 }, runOfThreePages));
    await Promise.all(runs.map((head) => bench.finish(head)));
    await vi.waitFor(() => expect(new Set(bench.bus.taken).size).toBe(5 * 6), PATIENCE);
    for (const { runId } of runs) {
      const firsts = bench.bus.firstsOf(runId);
      expect(firsts.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6]);
      // Within a page a refused event comes behind its neighbours; pages keep their order.
      expect(firsts.map((n) => Math.floor(n / 2))).toEqual([0, 1, 1, 2, 2, 3]);
    }
    expect(refusedOnce.size).toBe(10);
    expect((await list()).parked).toEqual([]);
  });

  it('B68 gives an event the same id however often it is published', async () => {
    const head = await runOfThreePages();
    const one = startRelay();
    await vi.waitFor(() => expect(bench.bus.taken).toHaveLength(5), PATIENCE);
    await one.stop();
    await redrivePages(bench.redrive, {
      action: 'runs',
      runs: [{ tenantId: 'acme', runId: head.runId, fromPage: 1 }],
    });
    const first = bench.bus.taken.slice(0, 5);
    expect(first).toEqual([1, 2, 3, 4, 5].map((n) => `${head.runId}.${n}`));
    expect(bench.bus.taken.slice(5)).toEqual(first);
  });

  it('is not told of by a change of a head, nor by items it does not know', async () => {
    startRelay();
    const head = await bench.accept();
    await bench.table.put({
      ...pageKey(head, 2),
      kind: 'page',
      page: 'invented_later',
      tenantId: head.tenantId,
      runId: head.runId,
      index: 2,
      body: 'in a form of its own',
    });
    await bench.table.put({ pk: 'X', sk: 'Y', kind: 'invented_later' });
    const other = await bench.accept();
    await vi.waitFor(() => expect(bench.bus.firstsOf(other.runId)).toEqual([1]), PATIENCE);
    expect(bench.bus.taken).toEqual([`${head.runId}.1`, `${other.runId}.1`]);
    expect(await list()).toMatchObject({ parked: [], waiting: { outbox: 0 } });
  });
});

describe('TRM-6 redrive', () => {
  it('publishes a parked run from where it stopped, in order; meanwhile other runs go on', async () => {
    startRelay();
    const bad = await bench.claim(await bench.accept());
    bench.bus.refuses = (id) => (id === `${bad.runId}.2` ? 'entry' : undefined);
    await bench.append(bad, 2);
    await vi.waitFor(async () => expect((await list()).parked).toHaveLength(1), PATIENCE);
    await bench.append(bad, 2);
    const good = await runOfThreePages();
    await vi.waitFor(() => expect(bench.bus.firstsOf(good.runId)).toHaveLength(5), PATIENCE);
    expect(await list()).toMatchObject({
      parked: [{ runId: bad.runId, fromPage: 2, throughPage: 3, code: 'made_up_entry' }],
      waiting: { outbox: 1 },
    });
    expect(bench.bus.firstsOf(bad.runId)).not.toContain(4);

    // Nobody has mended it: everything stays as it is.
    expect(await redriveParked()).toMatchObject({
      runs: expect.arrayContaining([
        {
          runId: bad.runId,
          tenantId: 'acme',
          pages: 0,
          stopped: { page: 2, code: 'made_up_entry' },
        },
      ]),
      parked: [{ runId: bad.runId }],
      waiting: { outbox: 1 },
    });

    bench.bus.refuses = () => undefined;
    bench.bus.taken.length = 0;
    // The message of the first redrive is still hidden: another one comes with the next report.
    await bench.emptyQueue('outbox');
    expect(await redriveParked()).toMatchObject({
      runs: [{ runId: bad.runId, pages: 2 }],
      parked: [],
      complete: true,
    });
    expect(bench.bus.firstsOf(bad.runId)).toEqual([2, 3, 4, 5]);
    await bench.append(bad);
    await vi.waitFor(() => expect(bench.bus.firstsOf(bad.runId)).toHaveLength(5), PATIENCE);
  });

  it('takes the message of a run out of the queue when the run is released', async () => {
    const head = await bench.accept();
    bench.bus.refuses = () => 'entry';
    startRelay();
    await vi.waitFor(async () => expect((await list()).parked).toHaveLength(1), PATIENCE);
    bench.bus.refuses = () => undefined;
    expect(await redriveParked()).toMatchObject({
      runs: [{ runId: head.runId, pages: 1 }],
      parked: [],
      waiting: { outbox: 0 },
      unresolved: [],
    });
  });

  it('finds the pages of a batch that its event source gave up, and reads them from the table', async () => {
    let broken = true;
    const relay = relayOutboxHandler(bench.relay);
    bench.follow(
      'relay-outbox',
      (event: never, context: never) => {
        if (broken) throw new Error('the function does not even start');
        return relay(event, context);
      },
      { maxRetryAttempts: 2 },
    );
    const head = await runOfThreePages();
    await vi.waitFor(async () => expect((await list()).waiting.outbox).toBe(3), PATIENCE);
    broken = false;
    const report = await redriveParked();
    expect(report).toMatchObject({ waiting: { outbox: 0 }, unresolved: [], complete: true });
    expect(new Set(bench.bus.taken)).toEqual(
      new Set([1, 2, 3, 4, 5].map((n) => `${head.runId}.${n}`)),
    );
    await bench.append(head);
    await vi.waitFor(() => expect(bench.bus.firstsOf(head.runId)).toContain(6), PATIENCE);
  });

  it('publishes just the pages it is asked for', async () => {
    const { runId } = await runOfThreePages();
    const runs = [{ tenantId: 'acme', runId, fromPage: 2, toPage: 2 }];
    expect(await redrivePages(bench.redrive, { action: 'runs', runs })).toMatchObject({
      runs: [{ runId, pages: 1 }],
    });
    expect(bench.bus.firstsOf(runId)).toEqual([2, 3]);
  });

  it('stops at a page that cannot be read, and goes on behind it when it can', async () => {
    const head = await bench.claim(await bench.accept());
    const good = { kind: 'page', page: 'events', tenantId: 'acme', runId: head.runId, index: 2 };
    await bench.table.put({ ...pageKey(head, 2), ...good, body: '{' });
    startRelay();
    await vi.waitFor(async () => expect((await list()).parked).toHaveLength(1), PATIENCE);
    const report = await redriveParked();
    expect(report.runs).toContainEqual({
      tenantId: 'acme',
      runId: head.runId,
      pages: 0,
      stopped: { page: 2, code: 'unreadable_page' },
    });
    const [page] = await bench.ledger.readPages(head, 0, 1);
    await bench.table.put({
      ...pageKey(head, 2),
      ...good,
      ...{ epoch: 1, producer: 'host', producerFirst: 1, first: 2, count: 1 },
      traceId: page?.traceId,
      body: JSON.stringify(page?.events),
    });
    expect((await redriveParked()).parked).toEqual([]);
    expect(bench.bus.firstsOf(head.runId)).toEqual([1, 2]);
  });

  it('says what it cannot find any more, and leaves its message', async () => {
    await bench.tell('outbox', {
      DDBStreamBatchInfo: {
        shardId: 'shardId-of-yesterday',
        startSequenceNumber: '1',
        endSequenceNumber: '2',
        approximateArrivalOfFirstRecord: at(0),
        approximateArrivalOfLastRecord: at(9),
        batchSize: 2,
        streamArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/nexusdesk/stream/gone',
      },
    });
    await bench.tell('usage', { hello: 'world' });
    expect(await redriveParked()).toMatchObject({
      unresolved: [
        `lost: 2 records written from ${at(0)} to ${at(9)}`,
        'unknown: {"hello":"world"}',
      ],
      waiting: { outbox: 1, usage: 1 },
    });
  });

  it('releases a run whose pages have left the table', async () => {
    const ref = { tenantId: 'acme', runId: 'run_00000000000000000000000000' };
    await bench.relay.parked.park({ ref, fromPage: 3, throughPage: 9, code: 'x', parkedAt: at(0) });
    expect(await redriveParked()).toMatchObject({ parked: [], complete: true });
  });

  it('says when its time was up, and begins there the next time', async () => {
    const head = await runOfThreePages();
    const parkedRun = { ref: head, fromPage: 1, throughPage: 3, code: 'x', parkedAt: at(0) };
    await bench.relay.parked.park(parkedRun);
    let now = 0;
    const slow = {
      ...bench.redrive,
      clock: { now: () => now },
      bus: {
        publish: async (events: Parameters<typeof bench.bus.publish>[0]) => {
          now += 150_000;
          return bench.bus.publish(events);
        },
      },
    };
    const first = await redrivePages(slow, { action: 'parked' });
    expect(first).toMatchObject({ complete: false, parked: [{ fromPage: 3 }] });
    expect(await redriveParked()).toMatchObject({ complete: true, parked: [] });
    expect(bench.bus.taken).toEqual([1, 2, 3, 4, 5].map((n) => `${head.runId}.${n}`));
  });
});

describe('a parked run', () => {
  const ref = { tenantId: 'acme', runId: 'run_00000000000000000000000000' };
  const run = { ref, fromPage: 3, throughPage: 4, code: 'x', parkedAt: at(0) };

  it('is not released before what was held back meanwhile is out', async () => {
    const { parked } = bench.relay;
    await parked.park(run);
    expect(await parked.hold(ref, 6)).toBe('held');
    expect(await parked.release(ref, 5)).toBe('held_more');
    expect(await parked.release(ref, 6)).toBe('released');
    expect(await parked.hold(ref, 7)).toBe('released');
    expect(await parked.list()).toEqual([]);
  });

  it('stays as it is when a relay that was thought dead parks it again', async () => {
    const { parked } = bench.relay;
    await parked.park(run);
    await parked.hold(ref, 9);
    await parked.advance(ref, 6);
    await parked.park(run);
    expect(await parked.list()).toEqual([{ ...run, fromPage: 6, throughPage: 9 }]);
    await parked.advance(ref, 4);
    expect((await parked.list())[0]?.fromPage).toBe(6);
  });

  it('can be parked again after its release, and released twice', async () => {
    const { parked } = bench.relay;
    await parked.park(run);
    expect(await parked.release(ref, 4)).toBe('released');
    expect(await parked.release(ref, 4)).toBe('released');
    await parked.park({ ...run, fromPage: 8, throughPage: 8 });
    expect(await parked.list()).toEqual([{ ...run, fromPage: 8, throughPage: 8 }]);
  });
});
