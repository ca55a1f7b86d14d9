import { appendRequestSchema } from '#shared/contracts/index.ts';
import { appendEvents, type Logger } from '#shared/orchestrator/index.ts';
import { executionOf } from '../../kit/execution-call.ts';
import { httpFunction } from '../../kit/http-function.ts';

/** `POST /host/v1/runs/{runId}/events`: see {@link appendEvents}. */
export function appendEventsHandler(
  open: () => Promise<Parameters<typeof appendEvents>[0]>,
  log: Logger,
) {
  return httpFunction({
    log,
    body: appendRequestSchema,
    run: async (request) => {
      const deps = await open();
      return {
        status: 200,
        body: await appendEvents(deps, executionOf(deps.tokens, request), request.body),
      };
    },
  });
}
