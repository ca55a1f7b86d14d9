import { z } from 'zod';
import {
  executionErrorSchema,
  executionResultSchema,
  terminalStatusSchema,
  usageSchema,
} from '#shared/contracts/index.ts';
import {
  all,
  type Item,
  itemBytes,
  type Table,
  type TransactionPart,
} from '#shared/table/index.ts';
import { logEnd, platformPage, positionBehind } from './dynamo-append-page.ts';
import { newWriteName, transactNamed } from './dynamo-named-write.ts';
import { releaseSlots } from './dynamo-quota.ts';
import {
  fromHeadItem,
  headKey,
  mayBecome,
  notYetPut,
  packedSchema,
  pageKey,
  parseItem,
  toPageItem,
  unchangedSince,
} from './dynamo-run-item.ts';
import { boundedError, boundedReason } from './head-bounds.ts';
import type { AttemptEnd, LogPage } from './log-page.ts';
import { packJson, unpackJson } from './packed-json.ts';
import type { RunHead, RunRef } from './run-head.ts';
import type { Ending, EndOutcome, RunLedger } from './run-ledger.ts';
import { isActive } from './run-lifecycle.ts';
import { addUsage } from './run-usage.ts';

/**
 * A host that appends at full speed can win the slot a few times in a row. Who loses goes on behind the winner without
 * another read: else a cancel would need two round trips for each of the host's, and never get a word in.
 */
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
    ...(reason === undefined ? {} : { cancelReason: boundedReason(reason) }),
    dueAt,
  } as const;
  const written = await withPage(table, head, { kind: 'events', events: [input.event] }, () => ({
    headPart: {
      update: headKey(head),
      change: { set: change },
      when: all(mayBecome('cancelling'), unchangedSince(head)),
    },
    release: [],
    after: { ...head, ...change },
  }));
  if (written.outcome === 'changed') return written;
  // The task may have got its name between the reading of the head and this write: whoever stops it must see it.
  const item = await table.get(headKey(head), { consistent: true });
  return item ? { outcome: 'applied', head: fromHeadItem(item) } : written;
}

/** See {@link RunLedger.finishRun}. */
export async function finishRun(
  table: Table,
  input: Parameters<RunLedger['finishRun']>[0],
): Promise<EndOutcome> {
  const { head, ending, events } = input;
  const { status, error } = ending;
  const endedAt = notBefore(input.now, head);
  const attempt = endOfAttempt(head, endedAt, status, ending);
  const removed = ['dueAt', 'leaseExpiresAt', 'quota', 'cancelReason'] as const;
  return withPage(table, head, { kind: 'final', events, attempt, ending }, (page) => {
    const set = {
      status,
      endedAt,
      usage: addUsage(head.usage, ending.usage),
      ...(error ? { error: boundedError(error) } : {}),
      finalPage: page.index,
    };
    return {
      headPart: {
        update: headKey(head),
        change: { set, remove: ['duePk', ...removed] },
        when: all(mayBecome(status), unchangedSince(head)),
      },
      release: releaseSlots(head),
      after: without({ ...head, ...set }, removed),
    };
  });
}

/** See {@link RunLedger.requeueRun}. */
export async function requeueRun(
  table: Table,
  input: Parameters<RunLedger['requeueRun']>[0],
): Promise<EndOutcome> {
  const { head, events, error, usage, dueAt } = input;
  const attempt = endOfAttempt(head, notBefore(input.now, head), 'requeued', { error, usage });
  const removed = ['leaseExpiresAt', 'quota', 'hostInstanceId', 'taskArn'] as const;
  return withPage(table, head, { kind: 'seal', events, attempt }, (page) => {
    const set = {
      status: 'queued' as const,
      dueAt,
      usage: addUsage(head.usage, usage),
      seals: [...(head.seals ?? []), page.index],
    };
    return {
      headPart: {
        update: headKey(head),
        change: { set, remove: removed },
        when: all(mayBecome('queued'), unchangedSince(head)),
      },
      release: releaseSlots(head),
      after: without({ ...head, ...set }, removed),
    };
  });
}

/** Clocks of two machines differ; nothing ends before it began (B106). */
function notBefore(now: string, head: RunHead): string {
  const begun = head.startedAt ?? head.createdAt;
  return now > begun ? now : begun;
}

function endOfAttempt(
  head: RunHead,
  endedAt: string,
  outcome: string,
  { error, usage }: Pick<AttemptEnd, 'error' | 'usage'>,
): AttemptEnd | undefined {
  if (!isActive(head.status)) return undefined;
  const { attempt, epoch } = head;
  return {
    attempt,
    epoch,
    endedAt,
    outcome,
    ...(error ? { error } : {}),
    usage: addUsage(usage, {}),
  };
}

const endingSchema = z.object({
  status: terminalStatusSchema,
  error: executionErrorSchema.optional(),
  result: executionResultSchema.optional(),
  usage: usageSchema,
  evidence: z.record(z.string(), z.unknown()).optional(),
});

/** See {@link RunLedger.readEnding}. */
export async function readEnding(
  table: Table,
  ref: RunRef,
  finalPage: number,
): Promise<Ending | undefined> {
  const item = await table.get(pageKey(ref, finalPage), { consistent: true });
  if (!item) return undefined;
  const { ending } = parseItem(z.object({ ending: packedSchema }), item);
  return parseItem(endingSchema, unpackJson(ending)) as Ending;
}

interface Ended {
  readonly headPart: TransactionPart;
  readonly release: TransactionPart[];
  readonly after: RunHead;
}

/**
 * Puts a platform page at the end of the log together with changes of the head. When only the slot was lost (a host
 * appended meanwhile), it moves one on; when the head is not as it was seen, the decision is void. A quota counter that
 * has nothing to give back is left as it is: a run must be able to end, and a reconciliation sets counters right.
 */
async function withPage(
  table: Table,
  head: RunHead,
  page: Pick<LogPage, 'kind' | 'events' | 'attempt'> & { ending?: Ending },
  build: (page: LogPage) => Ended,
): Promise<EndOutcome> {
  const { ending, ...content } = page;
  const writer = newWriteName();
  const empty = new Set<number>();
  const { epoch, traceId } = head;
  let position = await logEnd(table, head);
  for (let attempt = 0; attempt < SLOT_TRIES; attempt += 1) {
    const next = platformPage(position, { ...content, epoch, traceId });
    const { headPart, release, after } = build(next);
    const releases = release.map((part, index) => ({ part, index }));
    const wanted = releases.filter(({ index }) => !empty.has(index));
    const parts: TransactionPart[] = [
      headPart,
      { put: platformPageItem(head, next, writer, ending), when: notYetPut },
      ...wanted.map(({ part }) => part),
    ];
    const outcome = await transactNamed(table, parts, async () => {
      const landed = await table.get(pageKey(head, next.index), { consistent: true });
      return landed?.writer === writer;
    });
    if (outcome.applied) return { outcome: 'applied', head: after };
    const [headRefused, slotRefused, ...counters] = outcome.refused;
    if (headRefused) {
      return {
        outcome: 'changed',
        head: headRefused.existing && fromHeadItem(headRefused.existing),
      };
    }
    if (slotRefused) {
      const { existing } = slotRefused;
      position = existing ? positionBehind(existing) : await logEnd(table, head);
      continue;
    }
    for (const [place, refused] of counters.entries()) {
      if (refused) empty.add(wanted[place]?.index ?? place);
    }
  }
  return { outcome: 'changed', head };
}

function platformPageItem(
  ref: RunRef,
  page: LogPage,
  writer: string,
  ending: Ending | undefined,
): Item {
  if (!ending) return toPageItem(ref, page, { writer });
  const besides = itemBytes(toPageItem(ref, page, { writer, ending: '' }));
  return toPageItem(ref, page, { writer, ending: packJson(ending, besides) });
}

function without<K extends keyof RunHead>(head: RunHead, keys: readonly K[]): RunHead {
  const copy: RunHead = { ...head };
  for (const key of keys) delete copy[key];
  return copy;
}
