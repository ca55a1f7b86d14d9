import type { ExecutionTokens } from '#shared/auth/index.ts';
import { heartbeatRequestSchema } from '#shared/contracts/index.ts';
import { type Logger, renewLease } from '#shared/orchestrator/index.ts';
import { executionOf } from '../../kit/execution-call.ts';
import { httpFunction } from '../../kit/http-function.ts';

/** `POST /host/v1/runs/{runId}/heartbeat`: see {@link renewLease}. */
export function renewLeaseHandler(
  open: () => Promise<Parameters<typeof renewLease>[0] & { tokens: ExecutionTokens }>,
  log: Logger,
) {
  return httpFunction({
    log,
    body: heartbeatRequestSchema,
    run: async (request) => {
      const deps = await open();
      return { status: 200, body: await renewLease(deps, executionOf(deps.tokens, request)) };
    },
  });
}
