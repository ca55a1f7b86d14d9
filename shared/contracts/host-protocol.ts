import { z } from 'zod';
import { newEventSchema } from './agent-event.ts';
import { eventBlobSchema } from './event-blob.ts';
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
    /**
     * A host that could not renew its lease for this long kills its engine: another attempt may begin. Absent when no
     * other attempt can follow this one: then its work goes on until the deadline.
     */
    fenceAfterMs: z.number().int().min(100).optional(),
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

const count = z.number().int().min(0);

/** HST-5: how a host and what it looks after are doing. What cannot be measured is absent. */
export const hostHealthSchema = z.strictObject({
  /** Resident memory of the host itself. */
  hostRssBytes: count.optional(),
  /** Memory that only the engine's processes hold. */
  engineBytes: count.optional(),
  engineProcesses: count.optional(),
  /** Events that the gateway has not stored yet, and the part of their bytes that waits on disk. */
  pendingEvents: count,
  pendingBytes: count,
  spoolBytes: count,
  /** Since the claim. */
  lostEvents: count,
});
export type HostHealth = z.infer<typeof hostHealthSchema>;

/** `POST /host/v1/runs/{runId}/heartbeat` */
export const heartbeatRequestSchema = z.strictObject({
  state: z.string().max(40),
  health: hostHealthSchema.optional(),
});
export type HeartbeatRequest = z.infer<typeof heartbeatRequestSchema>;
export const heartbeatReplySchema = z.strictObject({
  leaseExpiresAt: timestampSchema,
  directives: z.array(directiveSchema),
});
export type HeartbeatReply = z.infer<typeof heartbeatReplySchema>;

/** Longest `data` of an upload, in characters; with its envelope it stays below what a function is given. */
export const MAX_UPLOAD_CHARACTERS = 5_750_000;

/**
 * `POST /host/v1/runs/{runId}/blobs`: keeps the payload of an event that is too large for the log. A repeat is
 * acknowledged: the content names the blob.
 */
export const uploadBlobRequestSchema = z.strictObject({
  blob: eventBlobSchema,
  /** The JSON of the payload in UTF-8, compressed (raw deflate), in base64. */
  data: z.string().max(MAX_UPLOAD_CHARACTERS),
});
export type UploadBlobRequest = z.infer<typeof uploadBlobRequestSchema>;

export const uploadBlobReplySchema = z.strictObject({ blob: eventBlobSchema });
export type UploadBlobReply = z.infer<typeof uploadBlobReplySchema>;

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
