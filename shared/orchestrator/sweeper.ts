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
  let doing: Promise<void> | undefined;

  const doChores = async (startedAt: number) => {
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
  };
  /** One round at a time. A chore that takes long keeps no tick waiting: hosts die meanwhile. */
  const startChores = (startedAt: number): Promise<void> => {
    doing ??= doChores(startedAt).finally(() => {
      doing = undefined;
    });
    return doing;
  };

  return {
    async tick() {
      const startedAt = clock.now();
      const count = await sweepDueRuns(deps, memory);
      await startChores(startedAt);
      return count;
    },
    async tickForAWhile() {
      const startedAt = clock.now();
      const total = { looked: 0, failed: 0 };
      for (;;) {
        const tickedAt = clock.now();
        const { looked, failed } = await sweepDueRuns(deps, memory);
        total.looked += looked;
        total.failed += failed;
        void startChores(tickedAt);
        const passedMs = clock.now() - startedAt;
        const nextMs = (Math.floor(passedMs / timing.sweepEveryMs) + 1) * timing.sweepEveryMs;
        if (nextMs >= timing.sweepForMs) break;
        await deps.wait(nextMs - passedMs);
      }
      await doing;
      return total;
    },
  };
}
