import type { CancelledRun, CancelOutcome, CancelRunsReply } from '#shared/contracts/index.ts';

/** Whose runs: the whole tenant's, or those of one agent. */
export type CancelScope = { readonly all: true } | { readonly agentId: string };

export interface CancelSummary {
  /** What happened to each run. */
  readonly runs: readonly CancelledRun[];
  /** Nothing was left to cancel. False when runs could not be cancelled, or new ones kept coming. */
  readonly complete: boolean;
}

/** Runs that begin while others are cancelled are found by going through them again; but not for ever. */
const MAX_PASSES = 6;
/** After one of these, there was something left. */
const EFFECTS: readonly CancelOutcome[] = ['cancelled', 'cancelling', 'failed'];

/**
 * Goes through the live runs, page by page, until a whole pass has changed none. `onRun` is told of each run once; of
 * one that failed only if it did so to the end.
 */
export async function cancelUntilNoneIsLeft(
  cancelPage: (cursor: string | undefined) => Promise<CancelRunsReply>,
  /** Before another pass over what could not be cancelled; `pass` counts from 0. */
  pause: (pass: number) => Promise<void>,
  onRun: (run: CancelledRun) => void = () => {},
): Promise<CancelSummary> {
  const runs = new Map<string, CancelledRun>();
  const isFailed = () => [...runs.values()].some(({ outcome }) => outcome === 'failed');
  let complete = false;
  for (let pass = 0; pass < MAX_PASSES && !complete; pass += 1) {
    if (isFailed()) await pause(pass - 1);
    complete = true;
    let cursor: string | undefined;
    do {
      const page: CancelRunsReply = await cancelPage(cursor);
      for (const run of page.runs) {
        if (EFFECTS.includes(run.outcome)) complete = false;
        const known = runs.get(run.runId);
        // What a later pass finds is what this one has done.
        if (known && known.outcome !== 'failed') continue;
        runs.set(run.runId, run);
        if (run.outcome !== 'failed') onRun(run);
      }
      cursor = page.nextCursor === cursor ? undefined : page.nextCursor;
    } while (cursor !== undefined);
  }
  const all = [...runs.values()];
  for (const run of all) if (run.outcome === 'failed') onRun(run);
  return { runs: all, complete };
}
