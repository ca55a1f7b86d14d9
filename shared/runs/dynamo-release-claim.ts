import { absent, all, equals, type Table } from '#shared/table/index.ts';
import { releaseSlots } from './dynamo-quota.ts';
import { fromHeadItem, headKey, unchangedSince } from './dynamo-run-item.ts';
import type { HeadWrite, RunLedger } from './run-ledger.ts';

/**
 * See {@link RunLedger.releaseClaim}. No page seals the log: no host has claimed this epoch, and from now on none can,
 * so nobody ever wrote with it.
 */
export async function releaseClaim(
  table: Table,
  { head, dueAt }: Parameters<RunLedger['releaseClaim']>[0],
): Promise<HeadWrite> {
  const set = { status: 'queued', attempt: head.attempt - 1, dueAt } as const;
  const update = {
    update: headKey(head),
    change: { set, remove: ['leaseExpiresAt', 'quota'] },
    when: all(
      equals('status', 'starting'),
      unchangedSince(head),
      absent('taskArn'),
      absent('hostInstanceId'),
    ),
  };
  // A counter that has nothing to give back is left out: a reconciliation sets it right.
  let slots = releaseSlots(head);
  for (;;) {
    const outcome = await table.transact([update, ...slots]);
    if (outcome.applied) {
      const { leaseExpiresAt: _lease, quota: _quota, ...rest } = head;
      return { outcome: 'applied', head: { ...rest, ...set } };
    }
    const [headRefused, ...counters] = outcome.refused;
    if (headRefused) {
      const now = headRefused.existing && fromHeadItem(headRefused.existing);
      // B95: it is this very write, whose answer was lost.
      const landed =
        now?.status === 'queued' && now.epoch === head.epoch && now.attempt === set.attempt;
      return landed ? { outcome: 'applied', head: now } : { outcome: 'refused', head: now };
    }
    slots = slots.filter((_, index) => !counters[index]);
  }
}
