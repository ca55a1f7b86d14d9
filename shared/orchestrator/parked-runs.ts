import type { RunRef } from '#shared/runs/index.ts';

/** A run whose events stopped reaching the bus. */
export interface ParkedRun {
  readonly ref: RunRef;
  /** First page that is not out. */
  readonly fromPage: number;
  /** Last page that is known to be held back. */
  readonly throughPage: number;
  /** Of the refusal. */
  readonly code: string;
  readonly parkedAt: string;
}

/**
 * Runs whose events wait for a redrive. While a run is parked, nothing of it is published but by the redrive: so its
 * events keep their order. Written by the relay and the redrive only; every method is one guarded write, safe to repeat.
 */
export interface ParkedRuns {
  /** Consistently; the relay of a run's own shard always sees what it has parked. */
  list(): Promise<ParkedRun[]>;
  /** Parks a run. One that is parked already stays as it is, and holds these pages too. */
  park(run: ParkedRun): Promise<void>;
  /** Adds a page to what a parked run holds back; `released` when the run is not parked (any more). */
  hold(ref: RunRef, page: number): Promise<'held' | 'released'>;
  /** The redrive came as far as this page, exclusive: another one may begin here. */
  advance(ref: RunRef, fromPage: number): Promise<void>;
  /** Everything through this page is out. `held_more` when a later page was held back meanwhile. */
  release(ref: RunRef, throughPage: number): Promise<'released' | 'held_more'>;
}
