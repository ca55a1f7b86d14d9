import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  absent,
  all,
  any,
  atLeast,
  below,
  type Condition,
  equals,
  type Item,
  type Key,
  type Table,
  type TransactionPart,
} from '#shared/table/index.ts';
import { QUOTA_PARTITIONS } from '#shared/topology/index.ts';
import { parseItem } from './dynamo-run-item.ts';
import type { RunHead } from './run-head.ts';
import type { QuotaCounter, QuotaRequest } from './run-ledger.ts';

/** Not a tenant's name: those begin with a letter or digit. */
const EVERYBODY = '*';

const partitionKey = (partition: number) => `QUOTA#${partition}`;

/** Shards of one tenant lie apart, so that a busy tenant heats several partitions a little and not one a lot. */
function counterKey(tenantId: string | undefined, shard: number): Key {
  const name = `${tenantId ?? EVERYBODY}#${shard}`;
  const hash = createHash('sha256').update(name).digest().readUInt32BE(0);
  return { pk: partitionKey(hash % QUOTA_PARTITIONS), sk: name };
}

const hasFreeSlot = (limit: number): Condition => any(absent('live'), below('live', limit));

function take(tenantId: string | undefined, shard: number, limit: number): TransactionPart {
  return {
    update: counterKey(tenantId, shard),
    change: {
      add: { live: 1, moves: 1 },
      setOnce: { kind: 'quota', tenantId: tenantId ?? EVERYBODY, shard },
    },
    when: hasFreeSlot(limit),
  };
}

/** The tenant's slot first, then the platform's. */
export function takeSlots(tenantId: string, quota: QuotaRequest): TransactionPart[] {
  return [
    take(tenantId, quota.tenantShard, quota.tenantLimit),
    ...(quota.global ? [take(undefined, quota.global.shard, quota.global.limit)] : []),
  ];
}

/** B113: each refuses to go below zero, which would let more runs in than allowed. */
export function releaseSlots({ tenantId, quota }: RunHead): TransactionPart[] {
  if (!quota) return [];
  const release = (key: Key): TransactionPart => ({
    update: key,
    change: { add: { live: -1, moves: 1 } },
    when: atLeast('live', 1),
  });
  return [
    release(counterKey(tenantId, quota.tenantShard)),
    ...(quota.globalShard === undefined ? [] : [release(counterKey(undefined, quota.globalShard))]),
  ];
}

const counterSchema = z.object({
  tenantId: z.string(),
  shard: z.number(),
  live: z.number(),
  moves: z.number(),
});

/** See {@link RunLedger.listQuotaCounters}. */
export async function listQuotaCounters(table: Table, partition: number): Promise<QuotaCounter[]> {
  const counters: QuotaCounter[] = [];
  let startAfter: Item | undefined;
  do {
    const page = await table.query({
      keys: equals('pk', partitionKey(partition)),
      limit: 1_000,
      consistent: true,
      startAfter,
    });
    counters.push(...page.items.map(toCounter));
    startAfter = page.lastKey;
  } while (startAfter);
  return counters;
}

function toCounter(item: Item): QuotaCounter {
  const { tenantId, ...counter } = parseItem(counterSchema, item);
  return { ...counter, tenantId: tenantId === EVERYBODY ? undefined : tenantId };
}

/** See {@link RunLedger.correctQuota}. */
export async function correctQuota(
  table: Table,
  seen: QuotaCounter,
  live: number,
): Promise<'corrected' | 'moved'> {
  const outcome = await table.update(
    counterKey(seen.tenantId, seen.shard),
    { set: { live }, add: { moves: 1 } },
    all(equals('live', seen.live), equals('moves', seen.moves)),
  );
  if (outcome.applied) return 'corrected';
  // B95: one move on and at the wanted value, it is this correction whose answer was lost, or as good as it.
  const now = outcome.existing && toCounter(outcome.existing);
  return now?.live === live && now.moves === seen.moves + 1 ? 'corrected' : 'moved';
}
