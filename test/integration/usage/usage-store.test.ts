import { type DynamoDBClient, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDynamoUsageStore } from '#shared/usage/dynamo-usage-store.ts';
import { sumOf, tallyOf, type UsageFact, type UsageStore } from '#shared/usage/index.ts';
import { openEmbeddedTable } from '#test/support/embedded-table.ts';

let embedded: Awaited<ReturnType<typeof openEmbeddedTable>>;
let store: UsageStore;
let tenants = 0;
beforeAll(async () => {
  embedded = await openEmbeddedTable();
  store = openDynamoUsageStore(embedded.table);
});
afterAll(() => embedded.close());

const DAYS = ['2026-11-29', '2026-11-30'] as const;
const RANGE = ['2026-11-29', '2026-11-30'] as const;

/** A tenant that no other test counts for. */
const newTenant = () => {
  tenants += 1;
  return `tenant-${tenants}`;
};

const fact = (tenantId: string, n: number, fields: Partial<UsageFact> = {}): UsageFact => ({
  tenantId,
  runId: `run_${String(n).padStart(26, '0')}`,
  page: 3,
  endedAt: `${DAYS[n % 2]}T23:59:59.000Z`,
  attempt: { usage: { inputTokens: n, costUsd: n / 1000 }, activeMs: 10 },
  outcome: 'completed',
  ...fields,
});

/** What must come out, from the facts alone. */
function expectedOf(facts: readonly UsageFact[]) {
  const tallies = (of: readonly UsageFact[]) => sumOf(of.map(tallyOf));
  const days = Map.groupBy(facts, ({ endedAt }) => endedAt.slice(0, 10));
  const agents = Map.groupBy(
    facts,
    ({ endedAt, agentId }) => `${endedAt.slice(0, 10)} ${agentId ?? '-'}`,
  );
  return {
    days: [...days].map(([day, of]) => [day, tallies(of)] as const).toSorted(byName),
    agents: [...agents].map(([name, of]) => [name, tallies(of)] as const).toSorted(byName),
  };
}

async function stored(tenantId: string) {
  const days = await store.days(tenantId, ...RANGE);
  const agents = await store.agentDays(tenantId, ...RANGE, 1_000);
  return {
    days: days.map(({ day, tally }) => [day, tally] as const).toSorted(byName),
    agents: (agents ?? [])
      .map(({ day, agentId, tally }) => [`${day} ${agentId ?? '-'}`, tally] as const)
      .toSorted(byName),
  };
}

const byName = (a: readonly [string, unknown], b: readonly [string, unknown]) =>
  a[0] < b[0] ? -1 : 1;

describe('TRM-5 usage', () => {
  it('is counted once, however often, in whatever portions and order its pages are told', async () => {
    const facts = fc.uniqueArray(
      fc.record({
        n: fc.integer({ min: 0, max: 30 }),
        page: fc.constantFrom(2, 5),
        agentId: fc.constantFrom(undefined, 'ann', 'bob'),
        seal: fc.boolean(),
      }),
      { minLength: 1, maxLength: 12, selector: ({ n, page }) => `${n}/${page}` },
    );
    // Each batch names facts by place: repeats within a batch, between batches, and gaps.
    const batches = fc.array(fc.array(fc.nat(11), { minLength: 1, maxLength: 8 }), {
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(facts, batches, fc.boolean(), async (described, replays, together) => {
        const tenantId = newTenant();
        const all = described.map(({ n, page, agentId, seal }) =>
          fact(tenantId, n, { page, agentId, outcome: seal ? undefined : 'failed' }),
        );
        const told = [
          ...replays.map((places) => places.flatMap((place) => all[place % all.length] ?? [])),
          all,
          all.toReversed(),
        ];
        if (together) await Promise.all(told.map((batch) => store.fold(batch)));
        else for (const batch of told) await store.fold(batch);
        expect(await stored(tenantId)).toEqual(expectedOf(all));
      }),
      { numRuns: 30 },
    );
  }, 60_000);

  it('is counted once when the answer to a write is lost', async () => {
    const tenantId = newTenant();
    const facts = [fact(tenantId, 1), fact(tenantId, 2)];
    const lossy = openDynamoUsageStore(
      Object.assign(Object.create(embedded.table), {
        async transact(parts: Parameters<typeof embedded.table.transact>[0]) {
          await embedded.table.transact(parts);
          throw new Error('the answer was lost');
        },
      }),
    );
    await expect(lossy.fold(facts)).rejects.toThrow('lost');
    expect(await store.fold(facts)).toBe(1);
    expect(await stored(tenantId)).toEqual(expectedOf(facts));
  });

  it('keeps more facts in a batch than one transaction holds', async () => {
    const tenantId = newTenant();
    const facts = Array.from({ length: 130 }, (_, n) => fact(tenantId, n, { agentId: `a${n}` }));
    expect(await store.fold(facts)).toBe(130);
    expect(await store.fold(facts)).toBe(0);
    expect(await stored(tenantId)).toEqual(expectedOf(facts));
    expect(await store.agentDays(tenantId, ...RANGE, 129)).toBeUndefined();
  });

  it('is of its tenant alone, and of the days that were asked for', async () => {
    const [one, other] = [newTenant(), newTenant()];
    await store.fold([fact(one, 1), fact(one, 2), fact(other, 3)]);
    const days = await store.days(one, '2026-11-29', '2026-11-29');
    expect(days).toEqual([{ day: '2026-11-29', tally: tallyOf(fact(one, 2)) }]);
  });

  it('costs 6 write units for an attempt that ends alone, and little more than 2 under load', async () => {
    const spent = countUnits(embedded.client);
    const tenantId = newTenant();
    await store.fold([fact(tenantId, 1)]);
    expect(spent.take()).toBe(6);
    await store.fold([fact(tenantId, 1)]);
    // A refused transaction is paid for, too: 2 for each of its three items. The table does not say so.
    expect(spent.take()).toBe(0);
    await store.fold(Array.from({ length: 40 }, (_, n) => fact(tenantId, 2 * n + 2)));
    expect(spent.take()).toBe(2 * 40 + 2 + 2);
  });
});

/** Write units of transactions, as the table bills them. */
function countUnits(client: DynamoDBClient) {
  let units = 0;
  client.middlewareStack.add(
    (next, context) => async (args) => {
      if (context.commandName === TransactWriteItemsCommand.name) {
        Object.assign(args.input, { ReturnConsumedCapacity: 'TOTAL' });
      }
      const result = await next(args);
      const { ConsumedCapacity = [] } = result.output as {
        ConsumedCapacity?: { CapacityUnits?: number }[];
      };
      units += [ConsumedCapacity].flat().reduce((sum, each) => sum + (each.CapacityUnits ?? 0), 0);
      return result;
    },
    { step: 'initialize' },
  );
  return {
    take() {
      const taken = units;
      units = 0;
      return taken;
    },
  };
}
