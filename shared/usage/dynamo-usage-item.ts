import { z } from 'zod';
import { headKey, parseItem } from '#shared/runs/dynamo-run-item.ts';
import { all, between, type Condition, equals, type Item, type Key } from '#shared/table/index.ts';
import type { UsageFact } from './usage-fact.ts';
import type { AgentDay } from './usage-store.ts';
import { TALLY_NAMES, type UsageTally } from './usage-tally.ts';

const partition = (tenantId: string) => `USAGE#${tenantId}`;
/** Of the runs without an agent; no agent has this name. */
const NO_AGENT = '-';

export const dayOf = ({ endedAt }: Pick<UsageFact, 'endedAt'>) => endedAt.slice(0, 10);

export const dayKey = (tenantId: string, day: string): Key => ({
  pk: partition(tenantId),
  sk: `DAY#${day}`,
});

export const agentDayKey = (tenantId: string, day: string, agentId: string | undefined): Key => ({
  pk: partition(tenantId),
  sk: `AGENT#${day}#${agentId ?? NO_AGENT}`,
});

/** Sort keys of days from one to the other; `~` is behind every name. */
export const daysBetween = (tenantId: string, from: string, to: string): Condition =>
  all(equals('pk', partition(tenantId)), between('sk', `DAY#${from}`, `DAY#${to}`));

export const agentDaysBetween = (tenantId: string, from: string, to: string): Condition =>
  all(equals('pk', partition(tenantId)), between('sk', `AGENT#${from}`, `AGENT#${to}#~`));

/** Says that a fact was counted. With the run's other items, so that marks of a busy tenant are spread. */
export function countedItem(fact: UsageFact): Item {
  const { tenantId, runId, page } = fact;
  return {
    pk: headKey(fact).pk,
    sk: `COUNTED#${String(page).padStart(8, '0')}`,
    kind: 'counted_usage',
    ...{ tenantId, runId, page },
    day: dayOf(fact),
  };
}

const totalSchema = z.object({ day: z.string(), agentId: z.string().optional() });

export function fromTotalItem(item: Item): AgentDay {
  const { day, agentId } = parseItem(totalSchema, item);
  return { day, agentId, tally: tallyIn(item) };
}

function tallyIn(item: Item): UsageTally {
  return Object.fromEntries(
    TALLY_NAMES.flatMap((name) => {
      const value = item[name];
      return typeof value === 'number' ? [[name, value]] : [];
    }),
  );
}
