import { all, equals, oneOf, type Table, type WriteOutcome } from '#shared/table/index.ts';
import {
  attemptKey,
  fromHeadItem,
  hasFreeSlot,
  headKey,
  mayBecome,
  ofEpoch,
  quotaKey,
  snapshotKey,
  unchangedSince,
  unclaimedOrMine,
} from './dynamo-run-item.ts';
import type { RunRef } from './run-head.ts';
import type { HeadWrite, LaunchClaim, RunLedger } from './run-ledger.ts';
import { ACTIVE_STATUSES } from './run-lifecycle.ts';

/** Quota counters are one shard per tenant until a tenant is large enough to need more. */
const QUOTA_SHARD = 0;

/** See {@link RunLedger.claimForLaunch}. */
export async function claimForLaunch(
  table: Table,
  input: Parameters<RunLedger['claimForLaunch']>[0],
): Promise<LaunchClaim> {
  const { head, snapshot, leaseExpiresAt, now } = input;
  const epoch = head.epoch + 1;
  const attempt = head.attempt + 1;
  const claimed = {
    status: 'starting',
    epoch,
    attempt,
    leaseExpiresAt,
    quotaShard: QUOTA_SHARD,
    dueAt: earlier(leaseExpiresAt, head.deadlineAt),
  } as const;
  const outcome = await table.transact([
    {
      update: headKey(head),
      change: {
        set: claimed,
        remove: ['hostInstanceId', 'taskArn'],
      },
      when: all(mayBecome('starting'), unchangedSince(head)),
    },
    {
      update: quotaKey(head.tenantId, QUOTA_SHARD),
      change: { add: { live: 1 }, setOnce: { kind: 'quota' } },
      when: hasFreeSlot(input.quotaLimit),
    },
    {
      put: {
        ...attemptKey(head, epoch),
        kind: 'attempt',
        attempt,
        epoch,
        claimedAt: now,
      },
    },
    { put: { ...snapshotKey(head, epoch), kind: 'snapshot', ...snapshot } },
  ]);
  if (outcome.applied) {
    const { hostInstanceId: _host, taskArn: _task, ...rest } = head;
    return {
      outcome: 'claimed',
      head: { ...rest, ...claimed },
    };
  }
  const [headRefused] = outcome.refused;
  if (!headRefused) return { outcome: 'quota_exceeded' };
  return {
    outcome: 'lost',
    head: headRefused.existing && fromHeadItem(headRefused.existing),
  };
}

/** See {@link RunLedger.recordTask}. */
export async function recordTask(
  table: Table,
  ref: RunRef,
  epoch: number,
  taskArn: string,
): Promise<HeadWrite> {
  return headWrite(
    await table.update(
      headKey(ref),
      { set: { taskArn } },
      all(ofEpoch(epoch), oneOf('status', ACTIVE_STATUSES)),
    ),
  );
}

/** See {@link RunLedger.claimByHost}. */
export async function claimByHost(
  table: Table,
  input: Parameters<RunLedger['claimByHost']>[0],
): Promise<HeadWrite> {
  return headWrite(
    await table.update(
      headKey(input.ref),
      {
        set: {
          status: 'running',
          hostInstanceId: input.hostInstanceId,
          leaseExpiresAt: input.leaseExpiresAt,
          dueAt: input.leaseExpiresAt,
        },
        setOnce: { startedAt: input.now },
      },
      all(
        oneOf('status', ['starting', 'running']),
        ofEpoch(input.epoch),
        unclaimedOrMine(input.hostInstanceId),
      ),
    ),
  );
}

/** See {@link RunLedger.renewLease}. */
export async function renewLease(
  table: Table,
  ref: RunRef,
  epoch: number,
  leaseExpiresAt: string,
): Promise<HeadWrite> {
  return headWrite(
    await table.update(
      headKey(ref),
      { set: { leaseExpiresAt } },
      all(ofEpoch(epoch), oneOf('status', ['running', 'cancelling'])),
    ),
  );
}

/** See {@link RunLedger.moveTimer}. */
export async function moveTimer(
  table: Table,
  ref: RunRef,
  seenDueAt: string,
  dueAt: string,
): Promise<HeadWrite> {
  return headWrite(
    await table.update(headKey(ref), { set: { dueAt } }, equals('dueAt', seenDueAt)),
  );
}

function headWrite(outcome: WriteOutcome): HeadWrite {
  if (outcome.applied) return { outcome: 'applied', head: fromHeadItem(outcome.item) };
  return { outcome: 'refused', head: outcome.existing && fromHeadItem(outcome.existing) };
}

function earlier(a: string, b: string): string {
  return a < b ? a : b;
}
