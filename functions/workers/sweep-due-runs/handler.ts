import { sweepDueRuns } from '#shared/orchestrator/index.ts';

/** One tick of the sweeper. A run that could not be settled is logged and stays due. */
export function sweepDueRunsHandler(deps: Parameters<typeof sweepDueRuns>[0]) {
  return async (): Promise<{ looked: number; failed: number }> => {
    const swept = await sweepDueRuns(deps);
    if (swept.looked > 0) deps.log.info(swept, 'swept');
    return swept;
  };
}
