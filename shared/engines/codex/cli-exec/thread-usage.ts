import type { Usage } from '#shared/contracts/index.ts';
import type { UsageTotals } from './wire.ts';

type TokenUsage = Pick<
  Usage,
  'inputTokens' | 'cachedInputTokens' | 'outputTokens' | 'reasoningTokens'
>;

const FIELDS = [
  ['inputTokens', 'input_tokens'],
  ['cachedInputTokens', 'cached_input_tokens'],
  ['outputTokens', 'output_tokens'],
  ['reasoningTokens', 'reasoning_output_tokens'],
] as const satisfies readonly (readonly [keyof TokenUsage, keyof UsageTotals])[];

/** What a thread had used before this run. A new thread has used nothing. */
export type UsageBaseline = UsageTotals | 'new_thread' | 'unknown';

export type UsageReading =
  | { readonly kind: 'known'; readonly usage: TokenUsage }
  | { readonly kind: 'unknown'; readonly reason: string };

/**
 * The tokens of this run, from the total of its thread (B07, B08). A count that is missing stays missing, zero
 * stays zero, and a total below the baseline is a counter that began again: unknown, never negative.
 */
export function usageSince(baseline: UsageBaseline, totals: UsageTotals): UsageReading {
  if (baseline === 'unknown') {
    return { kind: 'unknown', reason: 'what the resumed thread had used before is not known' };
  }
  const usage: { -readonly [K in keyof TokenUsage]: TokenUsage[K] } = {};
  for (const [field, wire] of FIELDS) {
    const total = totals[wire];
    const before = baseline === 'new_thread' ? 0 : baseline[wire];
    if (total == null || before == null) continue;
    if (total < before) {
      return {
        kind: 'unknown',
        reason: `the thread's ${wire} went back from ${before} to ${total}`,
      };
    }
    usage[field] = total - before;
  }
  return { kind: 'known', usage };
}
