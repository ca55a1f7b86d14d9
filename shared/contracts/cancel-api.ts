import { z } from 'zod';
import { executionErrorSchema } from './execution-error.ts';
import { agentIdSchema, runIdSchema } from './identifiers.ts';
import { cancelRunRequestSchema } from './run-api.ts';
import { runStatusSchema } from './run-status.ts';

/** Runs that one request looks at. */
export const MAX_CANCELLED_AT_ONCE = 100;

/** Body of `POST /v1/runs/cancel`. What is to be cancelled must be said: an empty body stops no tenant. */
export const cancelRunsRequestSchema = cancelRunRequestSchema
  .extend({
    /** Every run of the tenant that has not ended. */
    all: z.literal(true).optional(),
    /** Only the runs of this agent. */
    agentId: agentIdSchema.optional(),
    limit: z.number().int().min(1).max(MAX_CANCELLED_AT_ONCE).default(50),
    cursor: z.string().max(2_000).optional(),
  })
  .refine(({ all, agentId }) => (all === undefined) !== (agentId === undefined), {
    path: ['all'],
    error: 'say what is to be cancelled: either "all": true or an "agentId"',
  });
export type CancelRunsRequest = z.input<typeof cancelRunsRequestSchema>;

/**
 * `cancelled`: it ended now, for it had not begun · `cancelling`: it is being stopped now · `already_cancelling` ·
 * `already_ended`: it ended by itself meanwhile · `failed`: ask again.
 */
export const CANCEL_OUTCOMES = [
  'cancelled',
  'cancelling',
  'already_cancelling',
  'already_ended',
  'failed',
] as const;
export type CancelOutcome = (typeof CANCEL_OUTCOMES)[number];

const cancelledRunSchema = z.strictObject({
  runId: runIdSchema,
  outcome: z.enum(CANCEL_OUTCOMES),
  /** The run's status after it; absent when it is not known. */
  status: runStatusSchema.optional(),
  error: executionErrorSchema.optional(),
});
export type CancelledRun = z.infer<typeof cancelledRunSchema>;

/**
 * Runs start and move while they are gone through. Nothing is left to cancel when all requests from one without a cursor
 * to an answer without `nextCursor` changed none.
 */
export const cancelRunsReplySchema = z.strictObject({
  runs: z.array(cancelledRunSchema),
  /** Give it with the next request to go on behind these. */
  nextCursor: z.string().optional(),
});
export type CancelRunsReply = z.infer<typeof cancelRunsReplySchema>;
