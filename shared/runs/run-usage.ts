import type { Usage } from '#shared/contracts/index.ts';

const KEYS = [
  'inputTokens',
  'cachedInputTokens',
  'outputTokens',
  'reasoningTokens',
  'modelCalls',
  'toolCalls',
  'costUsd',
] as const satisfies readonly (keyof Usage)[];

/** B92: far above anything real, and still a number that every part of the platform can hold. */
const MAX_COST_USD = 1_000_000_000;

/** Sums of two attempts, each within what can be stored; what neither knows stays unknown. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: Usage = {};
  for (const key of KEYS) {
    if (a[key] === undefined && b[key] === undefined) continue;
    const most = key === 'costUsd' ? MAX_COST_USD : Number.MAX_SAFE_INTEGER;
    sum[key] = Math.min(most, (a[key] ?? 0) + (b[key] ?? 0));
  }
  return sum;
}
