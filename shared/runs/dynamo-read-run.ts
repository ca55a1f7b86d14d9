import { all, between, equals, startsWith, type Table } from '#shared/table/index.ts';
import { fromSnapshotItem } from './dynamo-claim-run.ts';
import {
  fromHeadItem,
  fromPageItem,
  headKey,
  pageKey,
  SNAPSHOT_PREFIX,
  snapshotKey,
} from './dynamo-run-item.ts';
import type { LogPage } from './log-page.ts';
import type { RunHead, RunRef } from './run-head.ts';
import type { AttemptRecord, AttemptSnapshot } from './run-ledger.ts';

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

/** Begins are in the snapshots, ends on the pages that ended them. */
export async function readAttempts(table: Table, ref: RunRef): Promise<AttemptRecord[]> {
  const head = await readHead(table, ref);
  if (!head) return [];
  const ending = [...(head.seals ?? []), ...(head.finalPage === undefined ? [] : [head.finalPage])];
  const [snapshots, pages] = await Promise.all([
    readSnapshots(table, ref),
    table.getMany(
      ending.map((index) => pageKey(ref, index)),
      { consistent: true },
    ),
  ]);
  const ends = new Map(
    pages.flatMap((item) => {
      const end = item && fromPageItem(item).attempt;
      return end ? [[end.epoch, end] as const] : [];
    }),
  );
  return snapshots.map(({ attempt, epoch, claimedAt }) => {
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

/** As many as a run may have attempts, and more than that. */
const MAX_SNAPSHOTS = 100;

async function readSnapshots(table: Table, ref: RunRef): Promise<AttemptSnapshot[]> {
  const { items } = await table.query({
    keys: all(equals('pk', headKey(ref).pk), startsWith('sk', SNAPSHOT_PREFIX)),
    limit: MAX_SNAPSHOTS,
    consistent: true,
  });
  return items.map(fromSnapshotItem);
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
