import type { ExecutionTokens } from '#shared/auth/index.ts';
import { heartbeatRequestSchema } from '#shared/contracts/index.ts';
import { type Logger, renewLease } from '#shared/orchestrator/index.ts';
import { executionOf } from '../../kit/execution-call.ts';
import { httpFunction } from '../../kit/http-function.ts';

/**
 * `POST /host/v1/runs/{runId}/heartbeat`: see {@link renewLease}. How host and engine are doing goes to the log, from
 * which metrics are made (HST-5): the head has no room for what changes with every beat.
 */
export function renewLeaseHandler(
  open: () => Promise<Parameters<typeof renewLease>[0] & { tokens: ExecutionTokens }>,
  log: Logger,
) {
  return httpFunction({
    log,
    body: heartbeatRequestSchema,
    run: async (request) => {
      const deps = await open();
      const scope = executionOf(deps.tokens, request);
      const reply = await renewLease(deps, scope);
      const { state, health } = request.body;
      const { tenantId, runId, epoch } = scope;
      if (health) log.info({ tenantId, runId, epoch, state, ...health }, 'host health');
      return { status: 200, body: reply };
    },
  });
}
