import { z } from 'zod';
import { runStatusSchema } from '#shared/contracts/index.ts';
import { type Logger, listRuns } from '#shared/orchestrator/index.ts';
import type { RunLedger } from '#shared/runs/index.ts';
import { httpFunction } from '../../kit/http-function.ts';
import { integerText } from '../../kit/query-numbers.ts';

const querySchema = z.strictObject({
  limit: integerText({ min: 1, max: 100, standard: 25 }),
  cursor: z.string().max(2_000).optional(),
  status: runStatusSchema.optional(),
});

/** `GET /v1/runs?limit&cursor&status`: the tenant's runs, newest first. */
export function listRunsHandler(deps: { ledger: RunLedger; log: Logger }) {
  return httpFunction({
    log: deps.log,
    query: querySchema,
    run: async (request) => ({
      status: 200,
      body: await listRuns(deps.ledger, request.caller().tenantId, request.query),
    }),
  });
}
