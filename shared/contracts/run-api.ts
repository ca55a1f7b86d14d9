import { z } from 'zod';
import { agentEventSchema } from './agent-event.ts';
import {
  capabilityLayersSchema,
  capabilitySchema,
  engineCapabilitiesSchema,
} from './engine-capabilities.ts';
import { executionErrorSchema } from './execution-error.ts';
import {
  budgetSchema,
  executionInputSchema,
  MAX_TIMEOUT_MS,
  retrySettingsSchema,
} from './execution-request.ts';
import { executionResultSchema } from './execution-result.ts';
import {
  adapterVersionSchema,
  agentIdSchema,
  conversationIdSchema,
  engineIdSchema,
  engineTripleSchema,
  protocolIdSchema,
  runIdSchema,
  timestampSchema,
} from './identifiers.ts';
import { processTreeSchema } from './process-tree.ts';
import { runStatusSchema } from './run-status.ts';
import { usageSchema } from './usage.ts';

/** Body of `POST /v1/runs`. The tenant is not in it: it comes from the token. */
/** Whose turn it is among the runs of a tenant that wait for a slot: `high` before `normal` before `low`. */
export const PRIORITIES = ['high', 'normal', 'low'] as const;
export const prioritySchema = z.enum(PRIORITIES);
export type Priority = z.infer<typeof prioritySchema>;

export const createRunRequestSchema = z.strictObject({
  engine: z.strictObject({
    id: engineIdSchema,
    /** Left out: the engine's default protocol. */
    protocol: protocolIdSchema.optional(),
    /** Left out: the newest active version. */
    adapterVersion: adapterVersionSchema.optional(),
  }),
  agentId: agentIdSchema.optional(),
  conversationId: conversationIdSchema.optional(),
  input: executionInputSchema,
  /** The engine's own section; its schema is in `GET /v1/engines`. */
  config: z.record(z.string(), z.json()).optional(),
  budget: budgetSchema.optional(),
  /** Capabilities this run goes without. A client can only give up, never ask for more. */
  capabilities: z.strictObject({ deny: z.array(capabilitySchema).max(11) }).optional(),
  /** Wall clock from acceptance to the end, waiting included. */
  timeoutMs: z.number().int().min(1_000).max(MAX_TIMEOUT_MS).optional(),
  retry: retrySettingsSchema.partial().optional(),
  /** Default `normal`. */
  priority: prioritySchema.optional(),
});
export type CreateRunRequest = z.infer<typeof createRunRequestSchema>;

/** Printable ASCII, 1 to 200 characters. */
export const idempotencyKeySchema = z.string().regex(/^[\x21-\x7e]{1,200}$/, {
  error: 'must be 1 to 200 printable ASCII characters without spaces',
});

export const attemptViewSchema = z.strictObject({
  attempt: z.number().int(),
  epoch: z.number().int(),
  claimedAt: timestampSchema,
  endedAt: timestampSchema.optional(),
  outcome: z.string().optional(),
  error: executionErrorSchema.optional(),
});

export const runSummarySchema = z.strictObject({
  runId: runIdSchema,
  status: runStatusSchema,
  engine: engineTripleSchema,
  attempt: z.number().int().min(0),
  createdAt: timestampSchema,
  startedAt: timestampSchema.optional(),
  endedAt: timestampSchema.optional(),
});
export type RunSummary = z.infer<typeof runSummarySchema>;

/** Answer of `GET /v1/runs/{runId}`. No process id, host path or task name is ever in it. */
export const runViewSchema = runSummarySchema.extend({
  agentId: agentIdSchema.optional(),
  conversationId: conversationIdSchema.optional(),
  priority: prioritySchema,
  deadlineAt: timestampSchema,
  cancelRequestedAt: timestampSchema.optional(),
  capabilities: capabilityLayersSchema.optional(),
  policyVersion: z.string().optional(),
  usage: usageSchema,
  result: executionResultSchema.optional(),
  /** How it is known that no process of the run is left; once it has ended. */
  processTree: processTreeSchema.optional(),
  error: executionErrorSchema.optional(),
  attempts: z.array(attemptViewSchema),
});
export type RunView = z.infer<typeof runViewSchema>;

export const runListSchema = z.strictObject({
  runs: z.array(runSummarySchema),
  nextCursor: z.string().optional(),
});
export type RunList = z.infer<typeof runListSchema>;

export const cancelRunRequestSchema = z.strictObject({ reason: z.string().max(500).optional() });
export type CancelRunRequest = z.infer<typeof cancelRunRequestSchema>;

export const eventPageSchema = z.strictObject({
  events: z.array(agentEventSchema),
  /** Where to read on; the same cursor again while nothing new was stored. */
  nextCursor: z.string(),
  /** True when the final event is in this page or before it: nothing will ever follow. */
  complete: z.boolean(),
});
export type EventPage = z.infer<typeof eventPageSchema>;

export const engineViewSchema = z.strictObject({
  engine: engineTripleSchema,
  displayName: z.string(),
  status: z.enum(['active', 'deprecated', 'disabled']),
  isDefaultProtocol: z.boolean(),
  availability: z.enum(['available', 'unavailable']),
  reasons: z.array(z.string()),
  supportedVersions: z.string(),
  declared: engineCapabilitiesSchema,
  available: engineCapabilitiesSchema,
  configSchema: z.json(),
});
export const engineListSchema = z.strictObject({ engines: z.array(engineViewSchema) });
export type EngineView = z.infer<typeof engineViewSchema>;
export type EngineList = z.infer<typeof engineListSchema>;

export const healthSchema = z.strictObject({
  status: z.enum(['ok', 'degraded']),
  version: z.string(),
  checks: z.array(
    z.strictObject({ name: z.string(), ok: z.boolean(), detail: z.string().optional() }),
  ),
});

/** `type` of a problem: a name, no address; `docs/errors.md` says what each code means. */
export function problemType(code: string): string {
  return `urn:nexusdesk:error:${code}`;
}

/** RFC 9457 problem details; `code`, `field` and `remedy` come from the error table. */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: z.string(),
  requestId: z.string().optional(),
  field: z.string().optional(),
  remedy: z.string().optional(),
  details: z.record(z.string(), z.json()).optional(),
});
export type Problem = z.infer<typeof problemSchema>;
