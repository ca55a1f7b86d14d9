import { z } from 'zod';
import { agentIdSchema } from './identifiers.ts';
import type { TerminalStatus } from './run-status.ts';
import { type Usage, usageSchema } from './usage.ts';

const count = z.number().int().min(0);

/** `2026-11-30`, a day of UTC. */
export const usageDaySchema = z.iso.date();

export const USAGE_GROUPINGS = ['day', 'agent'] as const;
export const usageGroupingSchema = z.enum(USAGE_GROUPINGS);
export type UsageGrouping = z.infer<typeof usageGroupingSchema>;

/** Query of `GET /v1/usage`: days, both included; the last 30 when left out. */
export interface UsageReportQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly groupBy?: UsageGrouping | undefined;
  /** Rows in one page. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export const USAGE_KEYS = usageSchema.keyof().options;

/** What was used by attempts that ended, each counted once, on the day of its end. */
export const usageTotalsSchema = z.strictObject({
  /** Runs that ended, by how they ended. */
  runs: z.strictObject({
    completed: count.optional(),
    failed: count.optional(),
    cancelled: count.optional(),
    timed_out: count.optional(),
    budget_exhausted: count.optional(),
  } satisfies Record<TerminalStatus, z.ZodType>),
  /** Launches that ended, with those that were tried again. */
  attempts: count,
  /** From the claim of each attempt to its end, in milliseconds. */
  activeMs: count,
  /** Sums of what engines reported; absent what none of them did. */
  usage: usageSchema,
  /** Attempts that said nothing of it: then the sum is the least it can be. */
  unreported: z.strictObject({
    inputTokens: count.optional(),
    cachedInputTokens: count.optional(),
    outputTokens: count.optional(),
    reasoningTokens: count.optional(),
    modelCalls: count.optional(),
    toolCalls: count.optional(),
    costUsd: count.optional(),
  } satisfies Record<keyof Usage, z.ZodType>),
});
export type UsageTotals = z.infer<typeof usageTotalsSchema>;

/** One day, or one agent over all days; a row of agents without `agentId` is that of the runs without an agent. */
export const usageRowSchema = usageTotalsSchema.extend({
  day: usageDaySchema.optional(),
  agentId: agentIdSchema.optional(),
});
export type UsageRow = z.infer<typeof usageRowSchema>;

/**
 * Answer of `GET /v1/usage`. Days or agents without anything have no row. Attempts show up some seconds after their
 * end. `total` is of the whole range, whatever page this is.
 */
export const usageReportSchema = z.strictObject({
  from: usageDaySchema,
  to: usageDaySchema,
  groupBy: usageGroupingSchema,
  rows: z.array(usageRowSchema),
  total: usageTotalsSchema,
  nextCursor: z.string().optional(),
});
export type UsageReport = z.infer<typeof usageReportSchema>;
