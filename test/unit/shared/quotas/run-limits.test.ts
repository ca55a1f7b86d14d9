import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CounterShard,
  globalShards,
  runLimitsSchema,
  tenantShards,
} from '#shared/quotas/index.ts';

const total = (shards: readonly CounterShard[]) =>
  shards.reduce((sum, { limit }) => sum + limit, 0);

describe('ORC-6 limits of concurrent runs', () => {
  it('spread exactly the limit over counters, each of them tried once by every run', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), fc.string(), (limit, runId) => {
        const shards = tenantShards(runLimitsSchema.parse({ perTenant: limit }), 'acme', runId);
        expect(total(shards)).toBe(limit);
        expect(shards.map(({ shard }) => shard).sort((a, b) => a - b)).toEqual(
          shards.map((_, i) => i),
        );
        expect(Math.min(...shards.map((each) => each.limit))).toBeGreaterThan(0);
      }),
    );
  });

  it('are the tenant’s own where it has one', () => {
    const limits = runLimitsSchema.parse({ perTenant: 3, tenants: { acme: 7 }, global: 500 });
    expect(total(tenantShards(limits, 'acme', 'r'))).toBe(7);
    expect(total(tenantShards(limits, 'other', 'r'))).toBe(3);
    expect(total(tenantShards(limits, 'constructor', 'r'))).toBe(3);
    expect(total(globalShards(limits, 'r'))).toBe(500);
    expect(globalShards(runLimitsSchema.parse({}), 'r')).toEqual([]);
  });

  it('are refused when they are none', () => {
    for (const wrong of [{ perTenant: 0 }, { global: 1.5 }, { tenants: { a: -1 } }, { other: 1 }]) {
      expect(runLimitsSchema.safeParse(wrong).success).toBe(false);
    }
  });
});
