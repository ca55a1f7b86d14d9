import type { Logger, Sweeper } from '#shared/orchestrator/index.ts';

/** One invocation of the sweeper: it ticks until its schedule starts the next one. Overlap is harmless. */
export function sweepDueRunsHandler(sweeper: Sweeper, log: Logger) {
  return async (): Promise<{ looked: number; failed: number }> => {
    const swept = await sweeper.tickForAWhile();
    if (swept.looked > 0) log.info({ ...swept }, 'swept');
    return swept;
  };
}
