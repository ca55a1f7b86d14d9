import { cancelRunRequestSchema } from '#shared/contracts/index.ts';
import { cancelRun } from '#shared/orchestrator/index.ts';
import { httpFunction } from '../../kit/http-function.ts';
import { runOfPath } from '../../kit/run-path.ts';

/** `POST /v1/runs/{runId}/cancel` → 202 while it is being stopped, 200 when it has ended cancelled. */
export function cancelRunHandler(deps: Parameters<typeof cancelRun>[0]) {
  return httpFunction({
    log: deps.log,
    body: cancelRunRequestSchema,
    run: async (request) => {
      const caller = request.caller();
      const { head } = await cancelRun(deps, runOfPath(caller.tenantId, request.path), {
        reason: request.body.reason,
        requestedBy: caller.subject,
      });
      return {
        status: head.status === 'cancelled' ? 200 : 202,
        body: { runId: head.runId, status: head.status },
      };
    },
  });
}
