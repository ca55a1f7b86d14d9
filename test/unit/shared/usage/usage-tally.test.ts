import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Usage } from '#shared/contracts/index.ts';
import { sumOf, tallyOf, totalsOf, type UsageFact } from '#shared/usage/index.ts';

const ended = (usage: Usage, fields: Partial<UsageFact> = {}): UsageFact => ({
  tenantId: 'acme',
  runId: 'run_01J00000000000000000000000',
  page: 7,
  endedAt: '2026-11-30T12:00:00.000Z',
  attempt: { usage, activeMs: 1_500 },
  ...fields,
});
const totals = (...facts: UsageFact[]) => totalsOf(sumOf(facts.map(tallyOf)));

describe('a tally of usage', () => {
  it('says what is unknown instead of taking it for zero', () => {
    expect(totals(ended({ inputTokens: 10, toolCalls: 0 }), ended({ inputTokens: 5 }))).toEqual({
      runs: {},
      attempts: 2,
      activeMs: 3_000,
      usage: { inputTokens: 15, toolCalls: 0 },
      unreported: {
        cachedInputTokens: 2,
        outputTokens: 2,
        reasoningTokens: 2,
        modelCalls: 2,
        toolCalls: 1,
        costUsd: 2,
      },
    });
  });

  it('knows a cost only where an engine reports one', () => {
    expect(totals(ended({ inputTokens: 1 })).usage).not.toHaveProperty('costUsd');
    expect(totals(ended({ costUsd: 0.1 }), ended({ costUsd: 0.2 })).usage.costUsd).toBe(0.3);
  });

  it('counts a run by how it ended, and an attempt that was tried again as none', () => {
    const sealed = ended({ inputTokens: 1 });
    const final = ended({ inputTokens: 2 }, { page: 9, outcome: 'completed' });
    const neverStarted = ended({}, { page: 2, outcome: 'cancelled', attempt: undefined });
    expect(totals(sealed, final, neverStarted)).toMatchObject({
      runs: { completed: 1, cancelled: 1 },
      attempts: 2,
      usage: { inputTokens: 3 },
    });
  });

  it('B92 keeps totals readable when an engine reports nonsense', () => {
    const nonsense = ended({ inputTokens: Number.MAX_SAFE_INTEGER, costUsd: 1e300 });
    const sum = totals(...Array.from({ length: 50 }, () => nonsense));
    expect(Number.isSafeInteger(sum.usage.inputTokens)).toBe(true);
    expect(sum.usage.costUsd).toBeLessThanOrEqual(50 * 100_000);
  });

  it('does not depend on the order in which it is added up', () => {
    const facts = fc.array(
      fc.record({ inputTokens: fc.nat(), costUsd: fc.double({ min: 0, max: 100, noNaN: true }) }),
      { minLength: 1, maxLength: 20 },
    );
    fc.assert(
      fc.property(facts, (list) => {
        const tallies = list.map((usage) => tallyOf(ended(usage)));
        expect(sumOf(tallies.toReversed())).toEqual(sumOf(tallies));
      }),
    );
  });
});
