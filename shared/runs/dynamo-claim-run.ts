import { z } from 'zod';
import { capabilityLayersSchema, type RunStatus } from '#shared/contracts/index.ts';
import {
  all,
  equals,
  type Item,
  itemBytes,
  oneOf,
  type Table,
  type TransactionPart,
  type WriteOutcome,
} from '#shared/table/index.ts';
import { newWriteName, transactNamed } from './dynamo-named-write.ts';
import { takeSlots } from './dynamo-quota.ts';
import {
  fromHeadItem,
  headKey,
  mayBecome,
  ofEpoch,
  packedSchema,
  parseItem,
  snapshotKey,
  unchangedSince,
  unclaimedOrMine,
} from './dynamo-run-item.ts';
import { packJson, unpackJson } from './packed-json.ts';
import type { RunHead, RunRef } from './run-head.ts';
import type {
  AttemptSnapshot,
  AttemptTerms,
  HeadWrite,
  LaunchClaim,
  RunLedger,
} from './run-ledger.ts';
import { ACTIVE_STATUSES } from './run-lifecycle.ts';

/** See {@link RunLedger.claimForLaunch}. */
export async function claimForLaunch(
  table: Table,
  input: Parameters<RunLedger['claimForLaunch']>[0],
): Promise<LaunchClaim> {
  const { head, terms, quota, leaseExpiresAt, dueBy, now } = input;
  const claimed = {
    status: 'starting',
    epoch: head.epoch + 1,
    attempt: head.attempt + 1,
    leaseExpiresAt,
    quota: {
      tenantShard: quota.tenantShard,
      ...(quota.global ? { globalShard: quota.global.shard } : {}),
    },
    ...(head.dueAt === undefined || head.dueAt > dueBy ? { dueAt: dueBy } : {}),
  } as const;
  const claimId = newWriteName();
  const parts: TransactionPart[] = [
    {
      update: headKey(head),
      change: { set: claimed, remove: ['hostInstanceId', 'taskArn'] },
      when: all(mayBecome('starting'), unchangedSince(head)),
    },
    {
      put: snapshotItem(head, claimId, terms, {
        epoch: claimed.epoch,
        attempt: claimed.attempt,
        // Clocks of two machines differ; an attempt never begins before its run (B106).
        claimedAt: later(now, head.createdAt),
      }),
    },
    ...takeSlots(head.tenantId, quota),
  ];
  const outcome = await transactNamed(table, parts, async () => {
    const snapshot = await table.get(snapshotKey(head, claimed.epoch), { consistent: true });
    return snapshot?.claimId === claimId;
  });
  const { hostInstanceId: _host, taskArn: _task, ...rest } = head;
  if (outcome.applied) return { outcome: 'claimed', head: { ...rest, ...claimed } };
  const [headRefused, , tenantRefused] = outcome.refused;
  if (!headRefused) {
    return { outcome: 'quota_exceeded', scope: tenantRefused ? 'tenant' : 'global' };
  }
  return { outcome: 'lost', head: headRefused.existing && fromHeadItem(headRefused.existing) };
}

function later(a: string, b: string): string {
  return a < b ? b : a;
}

function snapshotItem(
  ref: RunRef,
  claimId: string,
  terms: AttemptTerms,
  attempt: Pick<AttemptSnapshot, 'attempt' | 'epoch' | 'claimedAt'>,
): Item {
  const besides = { ...snapshotKey(ref, attempt.epoch), kind: 'snapshot', claimId, ...attempt };
  return { ...besides, terms: packJson(terms, itemBytes({ ...besides, terms: '' })) };
}

const snapshotItemSchema = z.object({
  attempt: z.number(),
  epoch: z.number(),
  claimedAt: z.string(),
  terms: packedSchema,
});
const termsSchema = z.object({
  capabilities: capabilityLayersSchema,
  policyVersion: z.string(),
  credentialNames: z.array(z.string()),
});

export function fromSnapshotItem(item: Item): AttemptSnapshot {
  const { terms, ...attempt } = parseItem(snapshotItemSchema, item);
  return { ...attempt, ...parseItem(termsSchema, unpackJson(terms)) };
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
    // It landed before, and the run has ended since.
    (head) => head.epoch === epoch && head.taskArn === taskArn,
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
  seenStatus?: RunStatus,
): Promise<HeadWrite> {
  const sameTimer = equals('dueAt', seenDueAt);
  return headWrite(
    await table.update(
      headKey(ref),
      { set: { dueAt } },
      seenStatus ? all(sameTimer, equals('status', seenStatus)) : sameTimer,
    ),
    (head) => head.dueAt === dueAt,
  );
}

/** `landed`: a head that refuses the write because it has it already. */
function headWrite(outcome: WriteOutcome, landed?: (head: RunHead) => boolean): HeadWrite {
  if (outcome.applied) return { outcome: 'applied', head: fromHeadItem(outcome.item) };
  const head = outcome.existing && fromHeadItem(outcome.existing);
  return head && landed?.(head) ? { outcome: 'applied', head } : { outcome: 'refused', head };
}
