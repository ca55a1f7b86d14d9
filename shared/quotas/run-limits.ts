import { createHash } from 'node:crypto';
import { z } from 'zod';

const runs = z.number().int().min(1).max(100_000);

/** How many runs may hold a slot at once (from the claim to the end of an attempt); the others wait. */
export const runLimitsSchema = z.strictObject({
  /** Of each tenant that is not named below. */
  perTenant: runs.default(100),
  tenants: z.record(z.string(), runs).default({}),
  /** Of all tenants together; left out: as many as the account takes. */
  global: runs.optional(),
});
export type RunLimits = z.infer<typeof runLimitsSchema>;

/** One counter: it lets in as many as its part of the limit. */
export interface CounterShard {
  readonly shard: number;
  readonly limit: number;
}

/** Slots of one counter. Claims of one counter are transactions on one item: a larger limit is spread over several. */
const SLOTS_PER_COUNTER = 200;

/** The counters of a tenant, in the order in which this run tries them. */
export function tenantShards(limits: RunLimits, tenantId: string, runId: string): CounterShard[] {
  // A name like `constructor` must not find what every object has.
  const own = Object.hasOwn(limits.tenants, tenantId) ? limits.tenants[tenantId] : undefined;
  return shardsOf(own ?? limits.perTenant, runId);
}

/** The platform's counters, likewise; none where it has no limit. */
export function globalShards(limits: RunLimits, runId: string): CounterShard[] {
  return limits.global === undefined ? [] : shardsOf(limits.global, runId);
}

function shardsOf(limit: number, runId: string): CounterShard[] {
  const count = Math.ceil(limit / SLOTS_PER_COUNTER);
  const start = createHash('sha256').update(runId).digest().readUInt32BE(0) % count;
  return Array.from({ length: count }, (_, step) => {
    const shard = (start + step) % count;
    return { shard, limit: Math.floor(limit / count) + (shard < limit % count ? 1 : 0) };
  });
}
