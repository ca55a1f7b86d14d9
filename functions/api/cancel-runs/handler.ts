import { cancelRunsRequestSchema } from '#shared/contracts/index.ts';
import { cancelRuns } from '#shared/orchestrator/index.ts';
import { httpFunction } from '../../kit/http-function.ts';

/**
 * `POST /v1/runs/cancel`: cancels all runs of the tenant that have not ended, or those of one agent, up to `limit` in one
 * request, and says of each what happened. Repeating it is harmless and how the rest is reached.
 */
export function cancelRunsHandler(deps: Parameters<typeof cancelRuns>[0]) {
  return httpFunction({
    log: deps.log,
    body: cancelRunsRequestSchema,
    run: async (request) => {
      const { tenantId, subject } = request.caller();
      const { agentId, reason, limit, cursor } = request.body;
      return {
        status: 200,
        body: await cancelRuns(deps, tenantId, {
          agentId,
          reason,
          limit,
          cursor,
          requestedBy: subject,
        }),
      };
    },
  });
}
