import { z } from 'zod';
import { type Logger, pageEvents } from '#shared/orchestrator/index.ts';
import type { RunLedger } from '#shared/runs/index.ts';
import { httpFunction } from '../../kit/http-function.ts';
import { integerText } from '../../kit/query-numbers.ts';
import { runOfPath } from '../../kit/run-path.ts';

const querySchema = z.strictObject({
  limit: integerText({ min: 1, max: 1_000, standard: 100 }),
  cursor: z.string().max(200).optional(),
});

/** `GET /v1/runs/{runId}/events?cursor&limit`: stored events in order; `complete` once nothing can follow. */
export function listRunEventsHandler(deps: { ledger: RunLedger; log: Logger }) {
  return httpFunction({
    log: deps.log,
    query: querySchema,
    run: async (request) => ({
      status: 200,
      body: await pageEvents(
        deps.ledger,
        runOfPath(request.caller().tenantId, request.path),
        request.query,
      ),
    }),
  });
}
