import { describe, expect, it, vi } from 'vitest';
import { type Chore, openSweeper, timingSchema } from '#shared/orchestrator/index.ts';
import type { DuePage, RunLedger } from '#shared/runs/index.ts';

const timing = timingSchema.parse({});
const NOTHING: DuePage = { timers: [], after: undefined };

/** A sweeper with nothing due, whose ticks and chores take as long as the test says. */
function open(options: { tickMs?: number; chores?: readonly Chore[] } = {}) {
  let now = 1_000_000;
  const ticks: number[] = [];
  const errors: unknown[] = [];
  const startedAt = now;
  const ledger = {
    async dueTimers(shard: number) {
      if (shard === 0) {
        ticks.push(now - startedAt);
        now += options.tickMs ?? 0;
      }
      return NOTHING;
    },
  } as unknown as RunLedger;
  const sweeper = openSweeper(
    {
      ledger,
      timing,
      clock: { now: () => now },
      wait: async (ms) => {
        now += ms;
      },
      log: { info() {}, warn() {}, error: (fields) => void errors.push(fields) },
      queue: { send: () => Promise.reject(new Error('not asked for')) },
      launcher: {
        stop: () => Promise.reject(new Error('not asked for')),
        look: () => Promise.reject(new Error('not asked for')),
        find: () => Promise.reject(new Error('not asked for')),
        listLive: () => Promise.reject(new Error('not asked for')),
      },
    },
    options.chores ?? [],
  );
  return {
    sweeper,
    ticks,
    errors,
    passMs: (ms: number) => {
      now += ms;
    },
    sinceStart: () => now - startedAt,
  };
}

const chore = (everyMs: number, run: Chore['run']): Chore => ({ name: 'chore', everyMs, run });

describe('one invocation of the sweeper', () => {
  it('looks every 12 s and ends before the next one starts', async () => {
    const { sweeper, ticks, sinceStart } = open();
    await sweeper.tickForAWhile();
    expect(ticks).toEqual([0, 12_000, 24_000, 36_000, 48_000]);
    expect(sinceStart()).toBeLessThan(60_000);
  });

  it('keeps to its grid when looking takes time', async () => {
    const { sweeper, ticks } = open({ tickMs: 5_000 });
    await sweeper.tickForAWhile();
    expect(ticks).toEqual([0, 12_000, 24_000, 36_000, 48_000]);
  });

  it('leaves out looks that it has no time for', async () => {
    const { sweeper, ticks } = open({ tickMs: 13_000 });
    await sweeper.tickForAWhile();
    expect(ticks).toEqual([0, 24_000, 48_000]);
  });
});

describe('chores', () => {
  it('are done at their own pace', async () => {
    const done: number[] = [];
    const clockless = open({
      chores: [
        chore(60_000, async () => {
          done.push(clockless.sinceStart());
          return 'done';
        }),
      ],
    });
    for (let minute = 0; minute < 3; minute += 1) {
      await clockless.sweeper.tickForAWhile();
      clockless.passMs(60_000 - (clockless.sinceStart() % 60_000));
    }
    expect(done).toEqual([0, 60_000, 120_000]);
  });

  it('that have more to do go on at the next look, and know until when', async () => {
    const answers = ['more', 'more', 'done'] as const;
    const done: [number, number][] = [];
    const bench = open({
      chores: [
        chore(60_000, async (untilMs) => {
          done.push([bench.sinceStart(), untilMs - 1_000_000]);
          return answers[done.length - 1] ?? 'done';
        }),
      ],
    });
    await bench.sweeper.tickForAWhile();
    expect(done).toEqual([
      [0, 12_000],
      [12_000, 24_000],
      [24_000, 36_000],
    ]);
  });

  it('that take long keep no look waiting, and are not begun twice', async () => {
    let finish = () => {};
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let begun = 0;
    const { sweeper, ticks } = open({
      chores: [
        chore(12_000, async () => {
          begun += 1;
          await gate;
          return 'done';
        }),
      ],
    });
    const invocation = sweeper.tickForAWhile();
    await vi.waitFor(() => expect(ticks).toHaveLength(5));
    expect(begun).toBe(1);
    finish();
    await invocation;
  });

  it('that fail are logged, hide no other, and are tried again at their next time', async () => {
    const calls = { broken: 0, healthy: 0 };
    const { sweeper, errors, passMs } = open({
      chores: [
        chore(24_000, async () => {
          calls.broken += 1;
          throw new Error('broken');
        }),
        chore(24_000, async () => {
          calls.healthy += 1;
          return 'done';
        }),
      ],
    });
    for (let tick = 0; tick < 3; tick += 1) {
      await sweeper.tick();
      passMs(12_000);
    }
    expect(calls).toEqual({ broken: 2, healthy: 2 });
    expect(errors).toHaveLength(2);
  });
});
