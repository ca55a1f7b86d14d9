import { z } from 'zod';
import { all, between, equals, type Item, type Table } from '#shared/table/index.ts';
import { TABLE_SHAPE } from '#shared/topology/index.ts';
import { duePartition, parseItem, refOfHeadKey } from './dynamo-run-item.ts';
import type { DuePage, DueTimer } from './run-ledger.ts';

const timerSchema = z.object({ pk: z.string(), sk: z.string(), dueAt: z.string() });

/** See {@link RunLedger.dueTimers}. */
export async function dueTimers(
  table: Table,
  shard: number,
  now: string,
  options: { limit: number; after?: Item | undefined },
): Promise<DuePage> {
  const { items, lastKey } = await table.query({
    index: TABLE_SHAPE.indexes.due.name,
    keys: all(equals('duePk', duePartition(shard)), between('dueAt', '0', now)),
    limit: options.limit,
    startAfter: options.after,
  });
  return { timers: items.map(toTimer), after: lastKey };
}

/** Known by its key: an item of another kind may carry the same names. */
function toTimer(item: Item): DueTimer {
  const { pk, sk, dueAt } = parseItem(timerSchema, item);
  const ref = refOfHeadKey({ pk, sk });
  return ref ? { kind: 'run', ref, dueAt } : { kind: 'other', key: `${pk} ${sk}`, dueAt };
}
