import { z } from 'zod';
import { eventBlobSchema } from './event-blob.ts';
import { executionErrorSchema } from './execution-error.ts';
import { engineTripleSchema, runIdSchema, timestampSchema } from './identifiers.ts';
import { processTreeSchema } from './process-tree.ts';
import type { terminalStatusSchema } from './run-status.ts';
import { usageSchema } from './usage.ts';

export const EVENT_SCHEMA_VERSION = '1';
export const EVENT_SOURCES = ['platform', 'engine_native'] as const;
/** `execution`: life of the run · `domain`: what the agent did · `presentation`: text as it is typed. */
export const EVENT_FAMILIES = ['execution', 'domain', 'presentation'] as const;
export type EventFamily = (typeof EVENT_FAMILIES)[number];

const text = z.string();
const toolStatus = z.enum(['completed', 'failed', 'declined', 'aborted']);

const failurePayload = z.strictObject({
  error: executionErrorSchema,
  usage: usageSchema,
  processTree: processTreeSchema.optional(),
});

/** What a tool is, so that a timeline can show it without knowing the engine. */
export const TOOL_KINDS = ['command', 'file_change', 'mcp', 'web', 'function', 'agent'] as const;

/** Why events are not in the log. */
export const LOSS_REASONS = {
  spool_full: 'The gateway stored nothing for long, and the host had no room left.',
  spool_failed: "The host's disk did not keep them.",
  too_large: 'A payload over the limit of a blob.',
  refused: 'The gateway would never take it.',
  gateway_failed: 'The gateway answered, but did not store it, and the run had ended.',
  output_unread:
    'Output of the engine that was never read: it was over its limit, or its pipe had to be cut.',
  undecodable:
    "Records that are not of the engine's protocol, after the first fifty, which are diagnostics.",
} as const;
export type LossReason = keyof typeof LOSS_REASONS;
const lossReasonSchema = z.enum(Object.keys(LOSS_REASONS) as [LossReason, ...LossReason[]]);

/** CON-5: the platform's own event types, each with its family and the schema of its payload. */
export const PLATFORM_EVENTS = {
  'run.queued': { family: 'execution', payload: z.strictObject({ engine: engineTripleSchema }) },
  'run.started': {
    family: 'execution',
    payload: z.strictObject({ attempt: z.number().int().min(1), sandbox: text.optional() }),
  },
  'run.cancel_requested': {
    family: 'execution',
    payload: z.strictObject({ reason: text.optional(), requestedBy: text }),
  },
  'run.requeued': {
    family: 'execution',
    payload: z.strictObject({
      attempt: z.number().int().min(1),
      reason: text,
      error: executionErrorSchema.optional(),
    }),
  },
  'run.completed': { family: 'execution', payload: z.strictObject({ usage: usageSchema }) },
  'run.failed': { family: 'execution', payload: failurePayload },
  'run.cancelled': {
    family: 'execution',
    payload: z.strictObject({
      error: executionErrorSchema.optional(),
      usage: usageSchema,
      processTree: processTreeSchema.optional(),
    }),
  },
  'run.timed_out': { family: 'execution', payload: failurePayload },
  'run.budget_exhausted': { family: 'execution', payload: failurePayload },
  'engine.session.started': {
    family: 'execution',
    payload: z.strictObject({ nativeSessionId: text, engineVersion: text.optional() }),
  },
  'engine.session.completed': {
    family: 'execution',
    payload: z.strictObject({ nativeSessionId: text }),
  },
  'message.delta': {
    family: 'presentation',
    payload: z.strictObject({ messageId: text, text }),
  },
  'message.completed': {
    family: 'domain',
    payload: z.strictObject({
      messageId: text,
      role: z.enum(['assistant', 'reasoning']),
      text,
      truncatedBytes: z.number().int().min(1).optional(),
    }),
  },
  'tool.started': {
    family: 'domain',
    payload: z.strictObject({
      toolCallId: text,
      kind: z.enum(TOOL_KINDS),
      name: text,
      summary: text,
      input: z.json().optional(),
    }),
  },
  'tool.completed': {
    family: 'domain',
    payload: z.strictObject({
      toolCallId: text,
      kind: z.enum(TOOL_KINDS),
      name: text,
      summary: text,
      status: toolStatus,
      exitCode: z.number().int().optional(),
      output: text.optional(),
      truncatedBytes: z.number().int().min(1).optional(),
      changes: z
        .array(z.strictObject({ path: text, kind: z.enum(['add', 'update', 'delete']) }))
        .optional(),
    }),
  },
  'approval.required': {
    family: 'domain',
    payload: z.strictObject({
      approvalId: text,
      summary: text,
      expiresAt: timestampSchema.optional(),
    }),
  },
  'approval.resolved': {
    family: 'domain',
    payload: z.strictObject({
      approvalId: text,
      decision: z.enum(['approved', 'denied', 'expired']),
    }),
  },
  'input.required': {
    family: 'domain',
    payload: z.strictObject({ requestId: text, prompt: text }),
  },
  'artifact.created': {
    family: 'domain',
    payload: z.strictObject({ artifactId: text, name: text, bytes: z.number().int().min(0) }),
  },
  'usage.updated': { family: 'execution', payload: z.strictObject({ usage: usageSchema }) },
  'execution.error': {
    family: 'execution',
    payload: z.strictObject({ error: executionErrorSchema, recoverable: z.boolean() }),
  },
  /** TRM-8: output that could not be read as the engine's protocol, or a notice of the engine or host. */
  'execution.diagnostic': {
    family: 'execution',
    payload: z.strictObject({
      kind: z.enum([
        'undecodable_output',
        'engine_notice',
        'stderr',
        'host_notice',
        'protocol_notice',
      ]),
      message: text,
      raw: text.optional(),
      truncatedBytes: z.number().int().min(1).optional(),
    }),
  },
  /**
   * TRM-4: what is missing from the log, in the place where the first of it would be. The run's outcome does not depend
   * on it. The host numbers the events of its attempt from 1, also those that are lost.
   */
  'events.lost': {
    family: 'execution',
    payload: z.strictObject({
      reason: lossReasonSchema,
      /** Absent when what is missing never became events. */
      count: z.number().int().min(1).optional(),
      bytes: z.number().int().min(0),
      firstProduced: z.number().int().min(1).optional(),
      /** Events in between may be there: of a full spool the least important are dropped first. */
      lastProduced: z.number().int().min(1).optional(),
      firstAt: timestampSchema.optional(),
      lastAt: timestampSchema.optional(),
      /** How many of each event type; of many types the rest is `other`. */
      types: z.record(z.string(), z.number().int().min(1)).optional(),
    }),
  },
  'host.state_changed': {
    family: 'execution',
    payload: z.strictObject({ state: text, cause: text.optional() }),
  },
  'mission.step': {
    family: 'domain',
    payload: z.strictObject({ stepId: text, title: text, status: text }),
  },
} as const satisfies Record<string, { family: EventFamily; payload: z.ZodType }>;

export type PlatformEventType = keyof typeof PLATFORM_EVENTS;
export type PlatformEventPayload<T extends PlatformEventType> = z.infer<
  (typeof PLATFORM_EVENTS)[T]['payload']
>;

/** The event that ends a run's log, by the status it ends in. */
export const FINAL_EVENT_TYPES = {
  completed: 'run.completed',
  failed: 'run.failed',
  cancelled: 'run.cancelled',
  timed_out: 'run.timed_out',
  budget_exhausted: 'run.budget_exhausted',
} as const satisfies Record<z.infer<typeof terminalStatusSchema>, PlatformEventType>;

export function isFinalEventType(eventType: string): boolean {
  return (Object.values(FINAL_EVENT_TYPES) as string[]).includes(eventType);
}

const eventTypeSchema = z
  .string()
  .regex(/^[a-z][a-z0-9_]*(\.[a-zA-Z0-9_/-]+)+$/)
  .max(128);

/** One event made by a host or an adapter, before the ledger gives it its sequence number and identity. */
export const newEventSchema = z.strictObject({
  eventType: eventTypeSchema,
  source: z.enum(EVENT_SOURCES),
  family: z.enum(EVENT_FAMILIES),
  timestamp: timestampSchema,
  engineSessionId: z.string().max(200).nullable(),
  payload: z.json(),
  /** Present when `payload` is only a preview: texts cut, lists shortened, the shape the same. */
  blob: eventBlobSchema.optional(),
});
export type NewEvent = z.infer<typeof newEventSchema>;

/** CON-5: the envelope in which every event is stored, streamed and published. */
export const agentEventSchema = newEventSchema.extend({
  /** `<run id>.<sequence>`: the same on every publication, so a consumer can drop repeats. */
  eventId: z.string(),
  schemaVersion: z.literal(EVENT_SCHEMA_VERSION),
  executionId: runIdSchema,
  /** Dense per run, from 1. */
  sequence: z.number().int().min(1),
  traceId: z.string(),
});
export type AgentEvent = z.infer<typeof agentEventSchema>;

/** Builds a platform event; the payload is checked against its schema by the compiler. */
export function platformEvent<T extends PlatformEventType>(
  eventType: T,
  payload: PlatformEventPayload<T>,
  context: { timestamp: string; engineSessionId?: string | null },
): NewEvent {
  return {
    eventType,
    source: 'platform',
    family: PLATFORM_EVENTS[eventType].family,
    timestamp: context.timestamp,
    engineSessionId: context.engineSessionId ?? null,
    payload: payload as z.infer<ReturnType<typeof z.json>>,
  };
}
