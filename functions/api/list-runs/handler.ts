import { z } from 'zod';
import { RUN_STATUSES, runStatusSchema } from '#shared/contracts/index.ts';
import { type Logger, listRuns } from '#shared/orchestrator/index.ts';
import type { RunLedger } from '#shared/runs/index.ts';
import { httpFunction } from '../../kit/http-function.ts';
import { integerText } from '../../kit/query-numbers.ts';

/** One status, or several with commas between them. */
const statusesText = z
  .string()
  .max(200)
  .transform((text, context) => {
    const parsed = z.array(runStatusSchema).safeParse(text.split(','));
    if (parsed.success) return parsed.data;
    context.addIssue({
      code: 'custom',
      message: `must be one or several, with commas, of ${RUN_STATUSES.join(', ')}`,
    });
    return z.NEVER;
  });

const querySchema = z.strictObject({
  limit: integerText({ min: 1, max: 100, standard: 25 }),
  cursor: z.string().max(2_000).optional(),
  status: statusesText.optional(),
});

/** `GET /v1/runs?limit&cursor&status`: see {@link listRuns}. */
export function listRunsHandler(deps: { ledger: RunLedger; log: Logger }) {
  return httpFunction({
    log: deps.log,
    query: querySchema,
    run: async (request) => {
      const { limit, cursor, status } = request.query;
      const { tenantId } = request.caller();
      return {
        status: 200,
        body: await listRuns(deps.ledger, tenantId, { limit, cursor, statuses: status }),
      };
    },
  });
}
