import { z } from 'zod';
import {
  executionErrorSchema,
  executionResultSchema,
  usageSchema,
} from '#shared/contracts/index.ts';
import { all, atLeast, type Item, type Table, type TransactionPart } from '#shared/table/index.ts';
import { nextPlatformPage } from './dynamo-append-page.ts';
import {
  attemptKey,
  fromHeadItem,
  headKey,
  mayBecome,
  notYetPut,
  pageKey,
  parseItem,
  quotaKey,
  toPageItem,
  unchangedSince,
  usageKey,
} from './dynamo-run-item.ts';
import type { LogPage } from './log-page.ts';
import type { RunHead, RunRef } from './run-head.ts';
import type { Ending, EndOutcome, RunLedger } from './run-ledger.ts';

/** A host that appends at full speed can win the slot a few times in a row; each loss is one more read. */
const SLOT_TRIES = 50;

/** See {@link RunLedger.requestCancel}. */
export async function requestCancel(
  table: Table,
  input: Parameters<RunLedger['requestCancel']>[0],
): Promise<EndOutcome> {
  const { head, reason, now, dueAt } = input;
  const change = {
    status: 'cancelling',
    cancelRequestedAt: now,
    cancelReason: reason,
    dueAt,
  } as const;
  return withPage(table, head, { kind: 'events', events: [input.event] }, () => ({
    parts: [
      {
        update: headKey(head),
        change: { set: change },
        when: all(mayBecome('cancelling'), unchangedSince(head)),
      },
    ],
    after: { ...head, ...change, ...(reason === undefined ? {} : { cancelReason: reason }) },
  }));
}

/** See {@link RunLedger.finishRun}. */
export async function finishRun(
  table: Table,
  input: Parameters<RunLedger['finishRun']>[0],
): Promise<EndOutcome> {
  const { head, ending, events, now } = input;
  const { status, error, usage } = ending;
  return withPage(table, head, { kind: 'final', events, extra: { ending } }, (page) => {
    const set = { status, endedAt: now, usage, error, finalPage: page.index };
    return {
      parts: [
        {
          update: headKey(head),
          change: {
            set,
            remove: ['duePk', 'dueAt', 'leaseExpiresAt', 'quotaShard'],
          },
          when: all(mayBecome(status), unchangedSince(head)),
        },
        ...releaseSlot(head),
        ...endAttempt(head, now, status, error),
        usageRecord(head, usage, now),
      ],
      after: without({ ...head, ...set, ...(error ? { error } : {}) }, [
        'dueAt',
        'leaseExpiresAt',
        'quotaShard',
      ]),
    };
  });
}

/** See {@link RunLedger.requeueRun}. */
export async function requeueRun(
  table: Table,
  input: Parameters<RunLedger['requeueRun']>[0],
): Promise<EndOutcome> {
  const { head, events, error, usage, dueAt, now } = input;
  return withPage(table, head, { kind: 'seal', events }, () => {
    const set = { status: 'queued', dueAt } as const;
    return {
      parts: [
        {
          update: headKey(head),
          change: {
            set,
            remove: ['leaseExpiresAt', 'quotaShard', 'hostInstanceId', 'taskArn'],
          },
          when: all(mayBecome('queued'), unchangedSince(head)),
        },
        ...releaseSlot(head),
        ...endAttempt(head, now, 'requeued', error),
        usageRecord(head, usage, now),
      ],
      after: without({ ...head, ...set }, [
        'leaseExpiresAt',
        'quotaShard',
        'hostInstanceId',
        'taskArn',
      ]),
    };
  });
}

const endingItemSchema = z.object({
  ending: z.object({
    status: z.enum(['completed', 'failed', 'cancelled', 'timed_out', 'budget_exhausted']),
    error: executionErrorSchema.optional(),
    result: executionResultSchema.optional(),
    usage: usageSchema,
    evidence: z.record(z.string(), z.unknown()).optional(),
  }),
});

/** See {@link RunLedger.readEnding}. */
export async function readEnding(
  table: Table,
  ref: RunRef,
  finalPage: number,
): Promise<Ending | undefined> {
  const item = await table.get(pageKey(ref, finalPage), { consistent: true });
  return item && (parseItem(endingItemSchema, item).ending as Ending);
}

/**
 * Puts a platform page at the end of the log together with changes of the head. When only the slot was lost (a host
 * appended meanwhile), it moves one on; when the head is not as it was seen, the decision is void.
 */
async function withPage(
  table: Table,
  head: RunHead,
  page: Pick<LogPage, 'kind' | 'events'> & { extra?: Item },
  build: (page: LogPage) => { parts: TransactionPart[]; after: RunHead },
): Promise<EndOutcome> {
  const { extra, ...content } = page;
  for (let attempt = 0; attempt < SLOT_TRIES; attempt += 1) {
    const next = await nextPlatformPage(table, head, {
      ...content,
      epoch: head.epoch,
      traceId: head.traceId,
    });
    const { parts, after } = build(next);
    const outcome = await table.transact([
      ...parts,
      { put: toPageItem(head, next, extra), when: notYetPut },
    ]);
    if (outcome.applied) return { outcome: 'applied', head: after };
    const [headRefused] = outcome.refused;
    if (headRefused) {
      return {
        outcome: 'changed',
        head: headRefused.existing && fromHeadItem(headRefused.existing),
      };
    }
    if (!outcome.refused.at(-1)) {
      // Neither head nor slot: the quota counter refused. Releasing below zero would let more runs in than allowed.
      throw new RangeError(`quota slot of ${head.runId} was released before`);
    }
  }
  return { outcome: 'changed', head };
}

function releaseSlot(head: RunHead): TransactionPart[] {
  if (head.quotaShard === undefined) return [];
  return [
    {
      update: quotaKey(head.tenantId, head.quotaShard),
      change: { add: { live: -1 } },
      when: atLeast('live', 1),
    },
  ];
}

function endAttempt(
  head: RunHead,
  now: string,
  outcome: string,
  error: RunHead['error'],
): TransactionPart[] {
  if (head.epoch === 0) return [];
  return [
    { update: attemptKey(head, head.epoch), change: { set: { endedAt: now, outcome, error } } },
  ];
}

/** Folded into the tenant's totals by the stream's consumer, keyed by run and epoch, so that a repeat counts once. */
function usageRecord(head: RunHead, usage: RunHead['usage'], now: string): TransactionPart {
  const { runId, tenantId, epoch } = head;
  return {
    put: { ...usageKey(head, epoch), kind: 'usage', runId, tenantId, epoch, usage, at: now },
  };
}

function without<K extends keyof RunHead>(head: RunHead, keys: readonly K[]): RunHead {
  const copy: RunHead = { ...head };
  for (const key of keys) delete copy[key];
  return copy;
}
