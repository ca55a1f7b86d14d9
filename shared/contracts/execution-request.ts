import { z } from 'zod';
import { capabilityLayersSchema } from './engine-capabilities.ts';
import {
  agentIdSchema,
  conversationIdSchema,
  engineTripleSchema,
  runIdSchema,
  sessionIdSchema,
  tenantIdSchema,
  timestampSchema,
  workspaceIdSchema,
} from './identifiers.ts';

/** Longest prompt, in UTF-8 bytes: it is stored in one table item beside its configuration. */
export const MAX_PROMPT_BYTES = 200 * 1024;
export const MAX_TIMEOUT_MS = 24 * 60 * 60_000;
export const DEFAULT_TIMEOUT_MS = 30 * 60_000;
export const MAX_ATTEMPTS = 10;

/** Text that can be given to any process and stored anywhere: no NUL, no unpaired surrogate. */
export const safeTextSchema = z
  .string()
  .refine((value) => !value.includes('\0'), { error: 'must not contain a NUL character' })
  .refine((value) => value.isWellFormed(), {
    error: 'must be valid Unicode (it contains an unpaired surrogate)',
  });

export const executionInputSchema = z.strictObject({
  prompt: safeTextSchema.min(1),
});
export type ExecutionInput = z.infer<typeof executionInputSchema>;

/** KRN-6 and HST-3: a limit left out means the platform's default. */
export const budgetSchema = z.strictObject({
  totalTokens: z.number().int().min(1).max(1_000_000_000).optional(),
  toolCalls: z.number().int().min(1).max(1_000_000).optional(),
  outputBytes: z
    .number()
    .int()
    .min(1_024)
    .max(1024 ** 3)
    .optional(),
});
export type Budget = z.infer<typeof budgetSchema>;

export const retrySettingsSchema = z.strictObject({
  /** Attempts in all, the first included. */
  maxAttempts: z.number().int().min(1).max(MAX_ATTEMPTS),
  /** The task may run twice without harm: only then is a run tried again that may have had side effects. */
  repeatable: z.boolean(),
});
export type RetrySettings = z.infer<typeof retrySettingsSchema>;

export const traceContextSchema = z.strictObject({ traceId: z.string().regex(/^[0-9a-f]{32}$/) });

/** CON-2: everything an adapter may know about the execution it is to perform. */
export const executionRequestSchema = z.strictObject({
  schemaVersion: z.literal('1'),
  executionId: runIdSchema,
  tenantId: tenantIdSchema,
  agentId: agentIdSchema.optional(),
  conversationId: conversationIdSchema.optional(),
  attempt: z.number().int().min(1),
  engine: engineTripleSchema,
  session: z
    .strictObject({ sessionId: sessionIdSchema, nativeSessionId: z.string().optional() })
    .optional(),
  workspace: z.strictObject({ workspaceId: workspaceIdSchema }).optional(),
  input: executionInputSchema,
  /** Checked by the engine's own strict schema before the run is accepted. */
  config: z.json(),
  capabilities: capabilityLayersSchema,
  budget: budgetSchema,
  deadlineAt: timestampSchema,
  trace: traceContextSchema,
});
export type ExecutionRequest = z.infer<typeof executionRequestSchema>;

/** CON-1: what the caller holds of a run that was accepted. */
export const executionHandleSchema = z.strictObject({
  schemaVersion: z.literal('1'),
  executionId: runIdSchema,
  engine: engineTripleSchema,
  acceptedAt: timestampSchema,
  links: z.strictObject({
    self: z.string(),
    events: z.string(),
    stream: z.string(),
    cancel: z.string(),
  }),
});
export type ExecutionHandle = z.infer<typeof executionHandleSchema>;
