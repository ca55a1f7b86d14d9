import { z } from 'zod';
import { usageDaySchema, usageGroupingSchema } from '#shared/contracts/index.ts';
import type { Clock } from '#shared/kit/clock.ts';
import type { Logger } from '#shared/orchestrator/index.ts';
import { reportUsage, type UsageStore } from '#shared/usage/index.ts';
import { httpFunction } from '../../kit/http-function.ts';
import { integerText } from '../../kit/query-numbers.ts';

const querySchema = z.strictObject({
  from: usageDaySchema.optional(),
  to: usageDaySchema.optional(),
  groupBy: usageGroupingSchema.default('day'),
  limit: integerText({ min: 1, max: 400, standard: 100 }),
  cursor: z.string().max(200).optional(),
});

/** `GET /v1/usage?from&to&groupBy&limit&cursor`: what the tenant used, by day or by agent. */
export function getUsageHandler(deps: { usage: UsageStore; clock: Clock; log: Logger }) {
  return httpFunction({
    log: deps.log,
    query: querySchema,
    run: async (request) => {
      const { tenantId } = request.caller();
      const query = { tenantId, ...request.query };
      return { status: 200, body: await reportUsage(deps.usage, query, deps.clock.now()) };
    },
  });
}
