import { newSweepMemory, type SweepCount, sweepDueRuns } from './sweep-due-runs.ts';
import type { SweepDeps } from './sweep-run.ts';

/**
 * Something else that is to be done from time to time, beside the due runs. It is done about every `everyMs`, more
 * often after a cold start, and sometimes by two at once: doing it again must be harmless.
 */
export interface Chore {
  readonly name: string;
  readonly everyMs: number;
  /**
   * Does one bounded portion, and begins nothing new after `untilMs` (milliseconds since the epoch). `more`: it goes
   * on at the next tick. What it throws is logged; it is tried again at its next time.
   */
  run(untilMs: number): Promise<'done' | 'more'>;
}

export interface Sweeper {
  /** One look at everything that is due, then the chores whose time has come. Never rejects. */
  tick(): Promise<SweepCount>;
  /** Ticks every `sweepEveryMs` until `sweepForMs` are over: one invocation of a schedule of minutes. */
  tickForAWhile(): Promise<SweepCount>;
}

/**
 * HST-5, ORC-5: the sweeper. Two at once are harmless: everything they do is a guarded write or may be repeated.
 * `wait` resolves after so many milliseconds of the same clock.
 */
export function openSweeper(
  deps: SweepDeps & { readonly wait: (ms: number) => Promise<void> },
  chores: readonly Chore[],
): Sweeper {
  const memory = newSweepMemory();
  const nextAt = new Map<Chore, number>();
  const { clock, timing, log } = deps;

  const tick = async (): Promise<SweepCount> => {
    const startedAt = clock.now();
    const count = await sweepDueRuns(deps, memory);
    for (const chore of chores) {
      const now = clock.now();
      if ((nextAt.get(chore) ?? 0) > now) continue;
      // On a grid of its own, so that a tick which comes a moment early does not skip a turn.
      nextAt.set(chore, startedAt + chore.everyMs);
      try {
        if ((await chore.run(startedAt + timing.sweepEveryMs)) === 'more') nextAt.set(chore, now);
      } catch (error) {
        log.error({ chore: chore.name, error }, 'chore failed');
      }
    }
    return count;
  };

  return {
    tick,
    async tickForAWhile() {
      const startedAt = clock.now();
      const total = { looked: 0, failed: 0 };
      for (;;) {
        const { looked, failed } = await tick();
        total.looked += looked;
        total.failed += failed;
        const passedMs = clock.now() - startedAt;
        const nextMs = (Math.floor(passedMs / timing.sweepEveryMs) + 1) * timing.sweepEveryMs;
        if (nextMs >= timing.sweepForMs) return total;
        await deps.wait(nextMs - passedMs);
      }
    },
  };
}
