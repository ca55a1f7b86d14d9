import { PlatformError, runIdSchema } from '#shared/contracts/index.ts';
import type { RunRef } from '#shared/runs/index.ts';

/**
 * The run a request is about: the tenant of its caller and the id of its path. An id that cannot exist is answered
 * like one that does not.
 *
 * @throws PlatformError `run_not_found`
 */
export function runOfPath(tenantId: string, path: Readonly<Record<string, string>>): RunRef {
  const runId = runIdSchema.safeParse(path.runId);
  if (!runId.success) {
    throw new PlatformError('run_not_found', `there is no run ${path.runId}`, {
      field: 'runId',
      remedy: `a run id ${runId.error.issues[0]?.message}`,
    });
  }
  return { tenantId, runId: runId.data };
}
