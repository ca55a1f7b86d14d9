import {
  absent,
  type Condition,
  type Item,
  type Table,
  type TransactionPart,
} from '#shared/table/index.ts';
import {
  agentDayKey,
  agentDaysBetween,
  countedItem,
  dayKey,
  dayOf,
  daysBetween,
  fromTotalItem,
} from './dynamo-usage-item.ts';
import type { UsageFact } from './usage-fact.ts';
import type { UsageStore } from './usage-store.ts';
import { sumOf, tallyOf } from './usage-tally.ts';

/** With as many marks, as many agents and one day a transaction stays within DynamoDB's 100 items. */
const FACTS_PER_TRANSACTION = 40;
const PAGE_SIZE = 1_000;

const notYetCounted: Condition = absent('pk');

/**
 * A transaction adds the sums of some facts to their day and agents and puts a mark for each fact: all or nothing, and
 * not at all when one is marked already; then it is left out and the rest tried again. Write units: 2 a fact, 2 a day
 * and 2 an agent in a batch, so 6 for an attempt that ends alone and towards 2 under load. They are the consumer's,
 * beside what a run itself writes.
 */
export function openDynamoUsageStore(table: Table): UsageStore {
  return {
    async fold(facts) {
      let counted = 0;
      for (const group of groups(facts)) counted += await foldGroup(table, group);
      return counted;
    },

    async days(tenantId, from, to) {
      const items = await readAll(table, daysBetween(tenantId, from, to), Infinity);
      return (items ?? []).map(fromTotalItem);
    },

    async agentDays(tenantId, from, to, limit) {
      const items = await readAll(table, agentDaysBetween(tenantId, from, to), limit);
      return items?.map(fromTotalItem);
    },
  };
}

/** Facts of one tenant and day, each once, in portions of one transaction. */
function groups(facts: readonly UsageFact[]): UsageFact[][] {
  const unique = new Map(
    facts.map((fact) => [`${fact.tenantId}#${fact.runId}#${fact.page}`, fact]),
  );
  const byDay = Map.groupBy(unique.values(), (fact) => `${fact.tenantId}#${dayOf(fact)}`);
  return [...byDay.values()].flatMap((ofDay) =>
    Array.from({ length: Math.ceil(ofDay.length / FACTS_PER_TRANSACTION) }, (_, index) =>
      ofDay.slice(index * FACTS_PER_TRANSACTION, (index + 1) * FACTS_PER_TRANSACTION),
    ),
  );
}

async function foldGroup(table: Table, group: readonly UsageFact[]): Promise<number> {
  let open = group;
  while (open.length > 0) {
    const marks = open.map((fact) => ({ put: countedItem(fact), when: notYetCounted }));
    const outcome = await table.transact([...marks, ...additions(open)]);
    if (outcome.applied) return open.length;
    const left = open.filter((_, index) => !outcome.refused[index]);
    if (left.length === open.length) throw new Error('a transaction was refused for no mark');
    open = left;
  }
  return 0;
}

/** Of one tenant and day. */
function additions(facts: readonly UsageFact[]): TransactionPart[] {
  const [first] = facts;
  if (!first) return [];
  const { tenantId } = first;
  const day = dayOf(first);
  const byAgent = Map.groupBy(facts, ({ agentId }) => agentId);
  return [
    {
      update: dayKey(tenantId, day),
      change: { set: { kind: 'usage_day', tenantId, day }, add: sumOf(facts.map(tallyOf)) },
    },
    ...[...byAgent].map(([agentId, ofAgent]) => ({
      update: agentDayKey(tenantId, day, agentId),
      change: {
        set: { kind: 'usage_agent_day', tenantId, day, agentId },
        add: sumOf(ofAgent.map(tallyOf)),
      },
    })),
  ];
}

async function readAll(table: Table, keys: Condition, limit: number): Promise<Item[] | undefined> {
  const items: Item[] = [];
  let startAfter: Item | undefined;
  do {
    const page = await table.query({ keys, limit: PAGE_SIZE, startAfter });
    items.push(...page.items);
    if (items.length > limit) return undefined;
    startAfter = page.lastKey;
  } while (startAfter);
  return items;
}
