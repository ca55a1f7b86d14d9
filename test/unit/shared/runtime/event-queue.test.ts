import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NewEvent } from '#shared/contracts/index.ts';
import { EventQueue } from '#shared/runtime/event-queue.ts';
import { NOON, noticeEvent } from '#test/support/run-builders.ts';
import { delta, memorySpool } from './support.ts';

const KB = 1_024;
const BATCH = { bytes: 256 * KB, events: 499 };

const domain = (text: string): NewEvent => ({
  ...delta(text),
  eventType: 'message.completed',
  family: 'domain',
});
const native = (text: string): NewEvent => ({
  ...noticeEvent(text),
  eventType: 'engine.word',
  source: 'engine_native',
});
const MAKERS = [delta, native, domain, noticeEvent] as const;

function openQueue(
  options: Partial<ConstructorParameters<typeof EventQueue>[0]> & { spoolBytes?: number } = {},
) {
  const { spoolBytes = 10_000 * KB, ...more } = options;
  const spool = memorySpool();
  const failures: unknown[] = [];
  const queue = new EventQueue({
    spool: { store: spool, bytes: spoolBytes },
    memoryBytes: 100 * KB,
    onSpoolFailure: (error) => failures.push(error),
    timestamp: () => NOON,
    ...more,
  });
  return { queue, spool, failures };
}

/** Takes everything out, oldest first. */
async function takeAll(queue: EventQueue): Promise<NewEvent[]> {
  const taken: NewEvent[] = [];
  for (;;) {
    const batch = await queue.first(BATCH);
    if (batch.length === 0) return taken;
    taken.push(...batch.map(({ event }) => event));
    queue.removeFirst(batch.length);
  }
}

const isLoss = ({ eventType }: NewEvent) => eventType === 'events.lost';
const countOf = (events: readonly NewEvent[]) =>
  events.filter(isLoss).reduce((sum, { payload }) => sum + (payload as { count: number }).count, 0);
const numberOf = ({ payload }: NewEvent) => {
  const { text, message } = payload as { text?: string; message?: string };
  return Number.parseInt(text ?? message ?? '', 10);
};

describe('event queue', () => {
  it('gives back what it was given, in order, whatever was on disk, and accounts for the rest', async () => {
    const action = fc.oneof(
      { weight: 6, arbitrary: fc.record({ add: fc.nat(3), kb: fc.integer({ min: 0, max: 40 }) }) },
      { weight: 2, arbitrary: fc.constant('spill' as const) },
      { weight: 1, arbitrary: fc.constant('spill_or_drop' as const) },
      { weight: 1, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 20 }) }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(action, { minLength: 20, maxLength: 150 }),
        fc.integer({ min: 0, max: 800 }),
        async (actions, spoolKb) => {
          const { queue, spool } = openQueue({ spoolBytes: spoolKb * KB });
          const taken: NewEvent[] = [];
          let produced = 0;
          for (const step of actions) {
            if (step === 'spill') await queue.spill({ mayDrop: false });
            else if (step === 'spill_or_drop') await queue.spill({ mayDrop: true });
            else if ('take' in step) {
              const batch = await queue.first({ ...BATCH, events: step.take });
              taken.push(...batch.map(({ event }) => event));
              queue.removeFirst(batch.length);
            } else {
              const make = MAKERS[step.add] ?? delta;
              queue.add(make(`${produced} ${'x'.repeat(step.kb * KB)}`));
              produced += 1;
            }
            expect(queue.spooledBytes).toBeLessThanOrEqual(spoolKb * KB);
          }
          taken.push(...(await takeAll(queue)));
          const kept = taken.filter((event) => !isLoss(event)).map(numberOf);
          expect(kept).toEqual([...new Set(kept)].sort((a, b) => a - b));
          expect(kept.length + countOf(taken)).toBe(produced);
          expect(queue.lostEvents).toBe(countOf(taken));
          expect([queue.events, queue.bytes, queue.spooledBytes]).toEqual([0, 0, 0]);
          expect(spool.files.size).toBe(0);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('drops what matters least, and keeps what matters until nothing else is left', async () => {
    const { queue } = openQueue({ spoolBytes: 300 * KB });
    for (let n = 0; n < 60; n += 1)
      queue.add((MAKERS[n % 4] ?? delta)(`${n} ${'x'.repeat(9 * KB)}`));
    await queue.spill({ mayDrop: true });
    const lost = (await takeAll(queue)).filter(isLoss);
    expect(lost).toHaveLength(1);
    expect(lost[0]?.payload).toMatchObject({ types: { 'message.delta': expect.any(Number) } });
    expect(JSON.stringify(lost)).not.toContain('execution.diagnostic');
    expect(JSON.stringify(lost)).not.toContain('message.completed');
  });

  it('tells of a loss before the first event that came after it', async () => {
    const { queue } = openQueue({ spoolBytes: 100 * KB, memoryBytes: 10 * KB });
    queue.add(domain(`0 ${'x'.repeat(20 * KB)}`));
    queue.add(domain('1'));
    for (let n = 2; n < 30; n += 1) queue.add(delta(`${n} ${'x'.repeat(10 * KB)}`));
    queue.add(domain(`30 ${'x'.repeat(70 * KB)}`));
    await queue.spill({ mayDrop: true });
    queue.add(domain('31'));
    const taken = await takeAll(queue);
    const at = taken.findIndex(isLoss);
    // Numbers of hosts begin at 1, ours at 0.
    const lastBefore = numberOf(taken[at - 1] as NewEvent) + 1;
    expect(taken[at]?.payload).toMatchObject({ firstProduced: lastBefore + 1 });
    expect(taken.slice(-2).map(numberOf)).toEqual([30, 31]);
  });

  it('says full when it may not drop, and loses nothing', async () => {
    const { queue } = openQueue({ spoolBytes: 100 * KB, memoryBytes: 10 * KB });
    for (let n = 0; n < 30; n += 1) queue.add(delta(`${n} ${'x'.repeat(10 * KB)}`));
    expect(await queue.spill({ mayDrop: false })).toBe('full');
    expect((await takeAll(queue)).map(numberOf)).toEqual(Array.from({ length: 30 }, (_, n) => n));
  });

  it('goes on in memory when the disk fails, tells of it once, and accounts for what it lost', async () => {
    const { queue, spool, failures } = openQueue({ memoryBytes: 50 * KB });
    spool.faults.write = new Error('no space left');
    let produced = 0;
    for (let round = 0; round < 20; round += 1) {
      for (let n = 0; n < 10; n += 1) {
        queue.add(delta(`${produced} ${'x'.repeat(5 * KB)}`));
        produced += 1;
      }
      await queue.spill({ mayDrop: true });
      expect(queue.bytes).toBeLessThan(150 * KB);
    }
    expect(failures).toEqual([spool.faults.write]);
    const taken = await takeAll(queue);
    expect(taken.filter((event) => !isLoss(event)).length + countOf(taken)).toBe(produced);
  });

  it('says what was on a disk that cannot be read any more', async () => {
    const { queue, spool, failures } = openQueue({ memoryBytes: 10 * KB });
    for (let n = 0; n < 30; n += 1) queue.add(domain(`${n} ${'x'.repeat(10 * KB)}`));
    await queue.spill({ mayDrop: false });
    spool.faults.read = new Error('input/output error');
    const taken = await takeAll(queue);
    const lost = taken.filter(isLoss);
    expect(lost[0]?.payload).toMatchObject({ reason: 'spool_failed' });
    expect(taken.filter((event) => !isLoss(event)).length + countOf(taken)).toBe(30);
    expect(failures).toEqual([spool.faults.read]);
  });
});
