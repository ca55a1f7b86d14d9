import { z } from 'zod';

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Tokens and calls of one run. Absent means unknown, 0 means none: the two are never mixed. */
export const usageSchema = z.strictObject({
  inputTokens: count.optional(),
  cachedInputTokens: count.optional(),
  outputTokens: count.optional(),
  reasoningTokens: count.optional(),
  modelCalls: count.optional(),
  toolCalls: count.optional(),
  costUsd: z.number().min(0).finite().optional(),
});
export type Usage = z.infer<typeof usageSchema>;
