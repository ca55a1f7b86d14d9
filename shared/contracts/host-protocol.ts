import { z } from 'zod';
import { newEventSchema } from './agent-event.ts';
import { executionRequestSchema } from './execution-request.ts';
import { executionResultSchema } from './execution-result.ts';
import { timestampSchema } from './identifiers.ts';
import { runStatusSchema } from './run-status.ts';

/** Largest batch of events in one request, in bytes of its JSON; well under the page limit of the table. */
export const MAX_BATCH_BYTES = 256 * 1024;
export const MAX_BATCH_EVENTS = 500;

/** Header of all host calls: `Authorization: Bearer <ticket or execution token>`. */

/** `POST /host/v1/claim`, with the launch ticket. A repeat by the same host gets the same answer. */
export const claimRequestSchema = z.strictObject({
  hostInstanceId: z.string().regex(/^[a-z0-9-]{8,64}$/),
  hostVersion: z.string().max(40),
  sandbox: z.string().max(40),
});
export type ClaimRequest = z.infer<typeof claimRequestSchema>;

export const claimReplySchema = z.strictObject({
  executionToken: z.string(),
  request: executionRequestSchema,
  /** Values the engine needs, by the names its adapter asked for. Known secrets: mask them everywhere. */
  credentials: z.record(z.string(), z.string()),
  cursor: z.string(),
  lease: z.strictObject({
    expiresAt: timestampSchema,
    heartbeatEveryMs: z.number().int().min(100),
  }),
});
export type ClaimReply = z.infer<typeof claimReplySchema>;

/** What the platform wants of the host; every reply may carry some. */
export const directiveSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('cancel'), reason: z.string() }),
]);
export type Directive = z.infer<typeof directiveSchema>;

/** Events in the order they happened; `firstProducerSequence` counts the host's events from 1. */
export const eventBatchSchema = z.strictObject({
  firstProducerSequence: z.number().int().min(1),
  events: z.array(newEventSchema).max(MAX_BATCH_EVENTS),
});
export type EventBatch = z.infer<typeof eventBatchSchema>;

/** `POST /host/v1/runs/{runId}/events` */
export const appendRequestSchema = z.strictObject({ cursor: z.string(), batch: eventBatchSchema });
export type AppendRequest = z.infer<typeof appendRequestSchema>;

export const appendReplySchema = z.strictObject({
  /** Give it with the next append; it is signed and names the next free slot. */
  cursor: z.string(),
  storedThrough: z.number().int().min(0),
  directives: z.array(directiveSchema),
});
export type AppendReply = z.infer<typeof appendReplySchema>;

/** `POST /host/v1/runs/{runId}/heartbeat` */
export const heartbeatRequestSchema = z.strictObject({
  state: z.string().max(40),
  rssBytes: z.number().int().min(0).optional(),
});
export const heartbeatReplySchema = z.strictObject({
  leaseExpiresAt: timestampSchema,
  directives: z.array(directiveSchema),
});
export type HeartbeatReply = z.infer<typeof heartbeatReplySchema>;

/** `POST /host/v1/runs/{runId}/result`: the last events and the outcome, in one. A repeat is acknowledged. */
export const resultRequestSchema = z.strictObject({
  cursor: z.string(),
  batch: eventBatchSchema,
  result: executionResultSchema,
});
export type ResultRequest = z.infer<typeof resultRequestSchema>;

export const resultReplySchema = z.strictObject({
  /** `requeued`: the outcome allowed another attempt. `kept`: the run had ended; this result stays evidence. */
  outcome: z.enum(['committed', 'requeued', 'kept']),
  status: runStatusSchema,
});
export type ResultReply = z.infer<typeof resultReplySchema>;
