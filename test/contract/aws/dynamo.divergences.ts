import type { Divergence } from './divergences.ts';

export const DYNAMO_DIVERGENCES: readonly Divergence[] = [];
