import { isoTime } from '#shared/kit/clock.ts';
import { isActive, type QuotaCounter, type RunHead, type RunLedger } from '#shared/runs/index.ts';
import { DUE_SHARDS, QUOTA_PARTITIONS } from '#shared/topology/index.ts';
import type { Logger } from './ports.ts';
import type { Timing } from './settings.ts';
import type { Chore } from './sweeper.ts';

/** Later than every timer. */
const FAR_FUTURE_MS = Date.UTC(9999, 0, 1);
const TIMERS_PER_PAGE = 500;

interface Suspicion {
  readonly live: number;
  readonly moves: number;
  readonly counted: number;
}

/**
 * ORC-6: holds the quota counters against the runs that hold slots, and sets right a counter that is wrong. Slots are
 * given back in the transaction that ends an attempt, so that none should ever leak; this is for a table that was
 * restored or mended by hand. A counter is corrected only when two reconciliations in a row found it wrong in the same
 * way while nothing moved it: the index through which live runs are found is a moment behind the heads. Reads each live
 * run once, and no finished one.
 */
export function reconcileQuotasChore(deps: {
  readonly ledger: Pick<RunLedger, 'dueTimers' | 'readHead' | 'listQuotaCounters' | 'correctQuota'>;
  readonly timing: Timing;
  readonly log: Logger;
}): Chore {
  let suspicions = new Map<string, Suspicion>();
  return {
    name: 'quotas',
    everyMs: deps.timing.quotaCheckMs,
    async run() {
      const earlier = await allCounters(deps.ledger);
      const counted = await countSlots(deps.ledger);
      const found = new Map<string, Suspicion>();
      for (const counter of await allCounters(deps.ledger)) {
        const name = nameOf(counter.tenantId, counter.shard);
        const { live, moves } = counter;
        const suspicion = { live, moves, counted: counted.get(name) ?? 0 };
        const quiet = earlier.some(
          (seen) => nameOf(seen.tenantId, seen.shard) === name && seen.moves === moves,
        );
        if (!quiet || suspicion.counted === live) continue;
        if (!same(suspicions.get(name), suspicion)) {
          found.set(name, suspicion);
          continue;
        }
        const outcome = await deps.ledger.correctQuota(counter, suspicion.counted);
        deps.log.error({ counter: name, ...suspicion, outcome }, 'quota counter was wrong');
      }
      suspicions = found;
      return 'done';
    },
  };
}

async function allCounters(ledger: Pick<RunLedger, 'listQuotaCounters'>): Promise<QuotaCounter[]> {
  const partitions = Array.from({ length: QUOTA_PARTITIONS }, (_, partition) =>
    ledger.listQuotaCounters(partition),
  );
  return (await Promise.all(partitions)).flat();
}

/** The slots that the heads of live runs say they hold, by counter. */
async function countSlots(
  ledger: Pick<RunLedger, 'dueTimers' | 'readHead'>,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const seen = new Set<string>();
  const add = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (let shard = 0; shard < DUE_SHARDS; shard += 1) {
    let after: Awaited<ReturnType<RunLedger['dueTimers']>>['after'];
    do {
      const page = await ledger.dueTimers(shard, isoTime(FAR_FUTURE_MS), {
        limit: TIMERS_PER_PAGE,
        after,
      });
      for (const timer of page.timers) {
        // A timer that moves between two pages comes twice.
        if (timer.kind !== 'run' || seen.has(timer.ref.runId)) continue;
        seen.add(timer.ref.runId);
        for (const name of slotsOf(await ledger.readHead(timer.ref))) add(name);
      }
      after = page.after;
    } while (after);
  }
  return counts;
}

function slotsOf(head: RunHead | undefined): string[] {
  if (!head?.quota || !isActive(head.status)) return [];
  const { tenantShard, globalShard } = head.quota;
  return [
    nameOf(head.tenantId, tenantShard),
    ...(globalShard === undefined ? [] : [nameOf(undefined, globalShard)]),
  ];
}

/** `*` is no tenant's name. */
function nameOf(tenantId: string | undefined, shard: number): string {
  return `${tenantId ?? '*'}#${shard}`;
}

function same(a: Suspicion | undefined, b: Suspicion): boolean {
  return a?.live === b.live && a.moves === b.moves && a.counted === b.counted;
}
