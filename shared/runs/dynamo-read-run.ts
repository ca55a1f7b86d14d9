import { all, between, equals, type Key, type Table } from '#shared/table/index.ts';
import { fromSnapshotItem } from './dynamo-claim-run.ts';
import { fromHeadItem, fromPageItem, headKey, pageKey, snapshotKey } from './dynamo-run-item.ts';
import type { LogPage } from './log-page.ts';
import type { RunHead, RunRef } from './run-head.ts';
import type { AttemptRecord, AttemptSnapshot } from './run-ledger.ts';
import { isActive } from './run-lifecycle.ts';

export async function readHead(table: Table, ref: RunRef): Promise<RunHead | undefined> {
  const item = await table.get(headKey(ref), { consistent: true });
  return item && fromHeadItem(item);
}

/** The heads of these runs, without those that are not there. */
export async function readHeads(table: Table, refs: readonly RunRef[]): Promise<RunHead[]> {
  const items = await table.getMany(refs.map(headKey), { consistent: true });
  return items.flatMap((item) => (item ? [fromHeadItem(item)] : []));
}

export async function readSnapshot(
  table: Table,
  ref: RunRef,
  epoch: number,
): Promise<AttemptSnapshot | undefined> {
  const item = await table.get(snapshotKey(ref, epoch), { consistent: true });
  return item && fromSnapshotItem(item);
}

/**
 * Ends are on the pages that ended them, begins in the snapshots. A claim that was given back left a snapshot too, and
 * was no attempt.
 */
export async function readAttempts(table: Table, ref: RunRef): Promise<AttemptRecord[]> {
  const head = await readHead(table, ref);
  if (!head) return [];
  const pages = [...(head.seals ?? []), ...(head.finalPage === undefined ? [] : [head.finalPage])];
  const ends = new Map(
    (await getMany(table, pages, (index) => pageKey(ref, index))).flatMap((item) => {
      const end = fromPageItem(item).attempt;
      return end ? [[end.epoch, end] as const] : [];
    }),
  );
  const epochs = [...ends.keys(), ...(isActive(head.status) ? [head.epoch] : [])];
  const snapshots = await getMany(table, epochs, (epoch) => snapshotKey(ref, epoch));
  return snapshots.map(fromSnapshotItem).map(({ attempt, epoch, claimedAt }) => {
    const { endedAt, outcome, error } = ends.get(epoch) ?? {};
    return {
      attempt,
      epoch,
      claimedAt,
      ...(endedAt ? { endedAt } : {}),
      ...(outcome ? { outcome } : {}),
      ...(error ? { error } : {}),
    };
  });
}

async function getMany<T>(table: Table, names: readonly T[], keyOf: (name: T) => Key) {
  const items = await table.getMany(names.map(keyOf), { consistent: true });
  return items.filter((item) => item !== undefined);
}

export async function readPages(
  table: Table,
  ref: RunRef,
  afterIndex: number,
  limit: number,
): Promise<LogPage[]> {
  const { items } = await table.query({
    keys: all(
      equals('pk', pageKey(ref, 0).pk),
      between('sk', pageKey(ref, afterIndex + 1).sk, pageKey(ref, 99_999_999).sk),
    ),
    limit,
    consistent: true,
  });
  return items.map(fromPageItem);
}
