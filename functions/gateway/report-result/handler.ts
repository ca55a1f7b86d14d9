import { resultRequestSchema } from '#shared/contracts/index.ts';
import { type Logger, reportResult } from '#shared/orchestrator/index.ts';
import { executionOf } from '../../kit/execution-call.ts';
import { httpFunction } from '../../kit/http-function.ts';

/** `POST /host/v1/runs/{runId}/result`: see {@link reportResult}. */
export function reportResultHandler(
  open: () => Promise<Parameters<typeof reportResult>[0]>,
  log: Logger,
) {
  return httpFunction({
    log,
    body: resultRequestSchema,
    run: async (request) => {
      const deps = await open();
      return {
        status: 200,
        body: await reportResult(deps, executionOf(deps.tokens, request), request.body),
      };
    },
  });
}
