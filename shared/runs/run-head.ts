import { z } from 'zod';
import {
  agentIdSchema,
  conversationIdSchema,
  engineTripleSchema,
  executionErrorSchema,
  prioritySchema,
  runIdSchema,
  runStatusSchema,
  tenantIdSchema,
  timestampSchema,
  usageSchema,
} from '#shared/contracts/index.ts';

/** The one small mutable record of a run. Everything that may change is here; it stays under one write unit. */
export const runHeadSchema = z.object({
  tenantId: tenantIdSchema,
  runId: runIdSchema,
  engine: engineTripleSchema,
  agentId: agentIdSchema.optional(),
  conversationId: conversationIdSchema.optional(),
  status: runStatusSchema,
  /** Launches so far. */
  attempt: z.number().int().min(0),
  /** Rises with every claim: a writer that holds an older one is fenced. */
  epoch: z.number().int().min(0),
  maxAttempts: z.number().int().min(1),
  repeatable: z.boolean(),
  /** Left out: normal. */
  priority: prioritySchema.optional(),
  leaseExpiresAt: timestampSchema.optional(),
  /** The host that claimed this epoch; a second one is refused. */
  hostInstanceId: z.string().optional(),
  taskArn: z.string().optional(),
  deadlineAt: timestampSchema,
  cancelRequestedAt: timestampSchema.optional(),
  /** Cut short: the whole text is in the log. */
  cancelReason: z.string().optional(),
  /** Which quota counters hold this run's slots, while it holds them. */
  quota: z
    .object({ tenantShard: z.number().int(), globalShard: z.number().int().optional() })
    .optional(),
  /** Of all attempts that ended. */
  usage: usageSchema,
  /** Cut short: the whole record is on the final page. */
  error: executionErrorSchema.optional(),
  /** Indexes of the pages that ended earlier attempts, oldest first. */
  seals: z.array(z.number().int()).optional(),
  /** Index of the final log page, once terminal. */
  finalPage: z.number().int().optional(),
  traceId: z.string(),
  createdAt: timestampSchema,
  startedAt: timestampSchema.optional(),
  endedAt: timestampSchema.optional(),
  /** When the sweeper looks at this run next; absent once terminal. */
  dueAt: timestampSchema.optional(),
});
export type RunHead = z.infer<typeof runHeadSchema>;

export interface RunRef {
  readonly tenantId: string;
  readonly runId: string;
}
