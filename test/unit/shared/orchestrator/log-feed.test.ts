import { beforeEach, describe, expect, it } from 'vitest';
import { openLogFeeds } from '#shared/orchestrator/index.ts';
import type { LogPage } from '#shared/runs/index.ts';
import { noticeEvent } from '#test/support/run-builders.ts';
import { ManualClock } from '#test/unit/client/support/manual-clock.ts';

const run = { tenantId: 'acme', runId: 'run_01JDZZZZZZZZZZZZZZZZZZZZZZ' };
const never = new AbortController().signal;

let clock: ManualClock;
let log: LogPage[];
/** How many pages each read of the table brought. */
let reads: number[];
let fault: Error | undefined;

beforeEach(() => {
  clock = new ManualClock();
  log = [];
  reads = [];
  fault = undefined;
});

const ledger = {
  async readPages(_ref: unknown, afterIndex: number, limit: number) {
    if (fault) throw fault;
    const pages = log.slice(afterIndex, afterIndex + limit);
    reads.push(pages.length);
    return pages;
  },
};

function store(count = 1, kind: LogPage['kind'] = 'events', text = 'x') {
  for (let page = 0; page < count; page += 1) {
    const index = log.length + 1;
    log.push({
      index,
      kind,
      epoch: 1,
      producer: 'host',
      producerFirst: index,
      first: index,
      events: [noticeEvent(text)],
      traceId: 'a'.repeat(32),
    });
  }
}

const feeds = () => openLogFeeds({ ledger, clock });

/** Lets everything that is not waiting for a timer happen. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Lets time pass in small steps, as it does: what a timer started is done before the next one. */
async function pass(ms: number, stepMs = 50) {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(stepMs);
    await settled();
  }
}

/** A reader that follows for ever; its pages as they come. */
function follow(feed: ReturnType<ReturnType<typeof openLogFeeds>['open']>, from = 0) {
  const indexes: number[] = [];
  const stop = new AbortController();
  const ended = (async () => {
    let after = from;
    while (!stop.signal.aborted) {
      for (const page of await feed.next(after, 10_000, stop.signal)) {
        indexes.push(page.index);
        after = page.index;
      }
    }
  })();
  return { indexes, stop: () => stop.abort(), ended };
}

describe('streams of one run in one process', () => {
  it('share one poll: 500 quiet ones read the table as often as one does', async () => {
    const readsPerMinute = async (streams: number) => {
      const opened = feeds();
      const readers = Array.from({ length: streams }, () => follow(opened.open(run)));
      await pass(60_000);
      const inFirst = reads.splice(0).length;
      await pass(60_000);
      const inSecond = reads.splice(0).length;
      for (const reader of readers) reader.stop();
      await Promise.all(readers.map(({ ended }) => ended));
      return { inFirst, inSecond };
    };
    const alone = await readsPerMinute(1);
    expect(alone.inFirst).toBeLessThanOrEqual(75);
    expect(alone.inSecond).toBeLessThanOrEqual(32);
    expect(await readsPerMinute(500)).toEqual(alone);
  });

  it('ask again soon after something came, and rarely when nothing has come for long', async () => {
    const reader = follow(feeds().open(run));
    await pass(60_000);
    const readsIn = async (ms: number) => {
      reads = [];
      await pass(ms);
      return reads.length;
    };
    expect(await readsIn(4_000)).toBeLessThanOrEqual(2);
    store();
    await pass(2_000);
    store();
    expect(await readsIn(400)).toBeGreaterThanOrEqual(3);
    expect(reader.indexes).toEqual([1, 2]);
    reader.stop();
    await reader.ended;
  });

  it('each get every page once and in order, wherever they begin', async () => {
    store(40);
    const opened = feeds();
    const readers = [0, 0, 17, 40].map((from) => ({ from, ...follow(opened.open(run), from) }));
    await pass(500);
    store(3);
    await pass(500);
    store(1, 'final');
    await pass(500);
    for (const { from, indexes } of readers) {
      expect(indexes).toEqual(Array.from({ length: 44 - from }, (_, index) => from + index + 1));
    }
    for (const reader of readers) reader.stop();
    await Promise.all(readers.map(({ ended }) => ended));
  });

  it('B121 do not wait for one that takes nothing, and it costs the others no reads', async () => {
    const opened = feeds();
    const slow = opened.open(run);
    const fast = follow(opened.open(run));
    store();
    const first = slow.next(0, 10_000, never);
    await pass(200);
    expect((await first).map(({ index }) => index)).toEqual([1]);
    // It is busy with the first page while 8 MB go by.
    for (let page = 0; page < 40; page += 1) {
      store(1, 'events', 'y'.repeat(200_000));
      await pass(150);
    }
    expect(fast.indexes).toHaveLength(41);
    reads = [];
    const [behind] = await slow.next(1, 10_000, never);
    expect(behind?.index).toBe(2);
    // What was kept is bounded: it had to be read again, and only as much as one reader may hold.
    expect(reads).toHaveLength(1);
    expect((await slow.next(39, 10_000, never)).map(({ index }) => index)).toEqual([40, 41]);
    expect(reads).toHaveLength(1);
    fast.stop();
    await fast.ended;
  });

  it('a reader that is further than the others brings them along at once', async () => {
    store(2);
    const opened = feeds();
    const quiet = follow(opened.open(run));
    await pass(60_000);
    store(2);
    // It read pages 3 and 4 by itself, before the others' next poll.
    const ahead = follow(opened.open(run), 4);
    await settled();
    expect(quiet.indexes).toEqual([1, 2, 3, 4]);
    store();
    await pass(2_500);
    expect([quiet.indexes.at(-1), ahead.indexes.at(-1)]).toEqual([5, 5]);
    quiet.stop();
    ahead.stop();
    await Promise.all([quiet.ended, ahead.ended]);
  });

  it('outlive a table that is busy for a moment, and say so when it stays that way', async () => {
    store();
    const opened = feeds();
    const feed = opened.open(run);
    fault = new Error('the ledger is busy');
    const first = feed.next(0, 60_000, never);
    await pass(2_000);
    fault = undefined;
    await pass(5_000);
    expect((await first).map(({ index }) => index)).toEqual([1]);

    fault = new Error('the table is gone');
    const failing = feed.next(1, 600_000, never).catch((error: unknown) => error);
    await pass(30_000);
    expect(await failing).toBe(fault);
    fault = undefined;
    store();
    const again = feed.next(1, 60_000, never);
    await pass(5_000);
    expect((await again).map(({ index }) => index)).toEqual([2]);
  });

  it('leave no timer and no poll behind', async () => {
    const opened = feeds();
    const stop = new AbortController();
    const feed = opened.open(run);
    const waiting = feed.next(0, 10_000, stop.signal);
    await pass(1_000);
    stop.abort();
    await waiting;
    feed.close();
    await settled();
    expect(clock.pendingTimers).toBe(0);
    reads = [];
    await pass(10_000);
    expect(reads).toEqual([]);
  });

  it('a log with a missing page is a fault, never a gap', async () => {
    store(3);
    log.splice(1, 1);
    const feed = feeds().open(run);
    const reading = feed.next(0, 600_000, never).catch((error: unknown) => error);
    await pass(30_000);
    expect(await reading).toMatchObject({ message: 'page 2 of the log is missing' });
  });
});
