import { describe, expect, it } from 'vitest';
import { type AgentDay, reportUsage, type UsageStore } from '#shared/usage/index.ts';

const NOW = Date.parse('2026-11-30T23:59:59.999Z');

/** Answers every day of the range with one run, and these days of agents. */
function storeOf(agentDays: AgentDay[] = [], asked: string[] = []): UsageStore {
  return {
    fold: async () => 0,
    async days(_tenantId, from, to) {
      asked.push(`${from}..${to}`);
      return [from, to].map((day) => ({ day, tally: { runs_completed: 1, attempts: 1 } }));
    },
    async agentDays(_tenantId, _from, _to, limit) {
      return agentDays.length > limit ? undefined : agentDays;
    },
  };
}

const ask = (store: UsageStore, query: Partial<Parameters<typeof reportUsage>[1]> = {}) =>
  reportUsage(store, { tenantId: 'acme', groupBy: 'day', limit: 100, ...query }, NOW);

const worked = (agentId: string | undefined, day: string, attempts: number): AgentDay => ({
  day,
  agentId,
  tally: { attempts },
});

describe('a report of usage', () => {
  it('is of the last 30 days, unless it is asked for others', async () => {
    const asked: string[] = [];
    const store = storeOf([], asked);
    await ask(store);
    await ask(store, { to: '2026-02-28' });
    await ask(store, { from: '2026-11-29' });
    expect(asked).toEqual([
      '2026-11-01..2026-11-30',
      '2026-01-30..2026-02-28',
      '2026-11-29..2026-11-30',
    ]);
  });

  it.each([
    [{ from: '2026-11-30', to: '2026-11-29' }, 'is after'],
    [{ from: '2025-11-29', to: '2026-11-30' }, '367 days are too many; at most 366'],
    [{ from: '2026-08-30', to: '2026-11-30', groupBy: 'agent' as const }, 'at most 92'],
  ])('refuses a range that is none or too long: %o', async (query, message) => {
    await expect(ask(storeOf(), query)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(message),
      record: { field: 'query.from', remedy: expect.any(String) },
    });
  });

  it('adds up the days of each agent, the runs without an agent first', async () => {
    const store = storeOf([
      worked('zoe', '2026-11-28', 1),
      worked('ann', '2026-11-28', 2),
      worked(undefined, '2026-11-29', 4),
      worked('ann', '2026-11-29', 8),
    ]);
    const report = await ask(store, { groupBy: 'agent' });
    expect(report.rows.map(({ agentId, attempts }) => [agentId, attempts])).toEqual([
      [undefined, 4],
      ['ann', 10],
      ['zoe', 1],
    ]);
    expect(report.total.attempts).toBe(15);
  });

  it('comes in pages, each with the total of the whole range', async () => {
    const agents = ['a', 'b', 'c', 'd', 'e'];
    const store = storeOf(agents.map((agent) => worked(agent, '2026-11-29', 1)));
    const seen: (string | undefined)[] = [];
    let cursor: string | undefined;
    do {
      const page = await ask(store, { groupBy: 'agent', limit: 2, cursor });
      expect(page.total.attempts).toBe(5);
      seen.push(...page.rows.map(({ agentId }) => agentId));
      cursor = page.nextCursor;
    } while (cursor);
    expect(seen).toEqual(agents);
  });

  it('refuses a cursor that it did not make', async () => {
    await expect(ask(storeOf(), { cursor: 'bm9uc2Vuc2U' })).rejects.toMatchObject({
      code: 'invalid_cursor',
    });
  });

  it('refuses to add up more than one answer can', async () => {
    const many = Array.from({ length: 20_001 }, () => worked('a', '2026-11-29', 1));
    await expect(ask(storeOf(many), { groupBy: 'agent' })).rejects.toMatchObject({
      code: 'invalid_request',
      record: { remedy: 'ask for fewer days at a time' },
    });
  });
});
