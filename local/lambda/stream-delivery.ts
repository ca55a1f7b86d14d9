import { randomUUID } from 'node:crypto';
import type { _Record as StreamRecord } from '@aws-sdk/client-dynamodb-streams';
import { failedItems } from './batch-answer.ts';
import type { InvokeOutcome, LambdaInvoker } from './invoker.ts';
import { sequenceOf, toStreamEvent } from './stream-event.ts';

/** Records that were given up, as Lambda tells an on-failure destination: where they are, not what they hold. */
export interface DiscardedBatch {
  readonly requestContext: {
    readonly requestId: string;
    readonly functionArn: string;
    readonly condition: 'RetryAttemptsExhausted' | 'RecordAgeExceeded';
    readonly approximateInvokeCount: number;
  };
  readonly responseContext: {
    readonly statusCode: number;
    readonly executedVersion: string;
    readonly functionError: string | null;
  };
  readonly version: '1.0';
  readonly timestamp: string;
  readonly DDBStreamBatchInfo: {
    readonly shardId: string;
    readonly startSequenceNumber: string;
    readonly endSequenceNumber: string;
    readonly approximateArrivalOfFirstRecord: string;
    readonly approximateArrivalOfLastRecord: string;
    readonly batchSize: number;
    readonly streamArn: string;
  };
}

export interface DeliverySettings {
  readonly invoker: LambdaInvoker;
  readonly streamArn: string;
  readonly reportBatchItemFailures: boolean;
  /** Halves a failing batch until the record that fails is alone. */
  readonly bisect: boolean;
  /** For each (part of a) batch, not counting its halving; -1 for as long as it takes. */
  readonly maxRetryAttempts: number;
  /** Older records are given up when they fail; -1 for never. */
  readonly maxRecordAgeMs: number;
  /** Must have taken the batch when it resolves; a rejection is tried again. */
  readonly onFailure: (batch: DiscardedBatch, records: readonly StreamRecord[]) => unknown;
}

export interface DeliveryProgress {
  /** Everything up to this sequence number is done. */
  done(sequenceNumber: string): void;
  /** Waits before the retry with this number, counted from 0. */
  wait(retry: number): Promise<void>;
  readonly signal: AbortSignal;
}

interface Part {
  readonly records: readonly StreamRecord[];
  readonly attempts: number;
}

/**
 * Brings records to a function in their order: each is done, or given up, before the next one. Returns early when
 * `signal` aborts; what was not reported as done is to be delivered again.
 */
export async function deliverRecords(
  settings: DeliverySettings,
  shardId: string,
  records: readonly StreamRecord[],
  progress: DeliveryProgress,
): Promise<void> {
  const parts: Part[] = records.length > 0 ? [{ records, attempts: 0 }] : [];
  for (let part = parts[0]; part && !progress.signal.aborted; part = parts[0]) {
    const outcome = await settings.invoker.invoke(toStreamEvent(part.records, settings.streamArn));
    const failedAt = firstFailure(settings, part.records, outcome);
    const before = part.records[failedAt - 1];
    if (before) progress.done(sequenceOf(before));
    const rest = part.records.slice(failedAt);
    parts.shift();
    if (rest.length === 0) continue;

    // The head of what is left was delivered first just now, if the head has changed.
    const attempts = failedAt > 0 ? 1 : part.attempts + 1;
    if (settings.bisect && rest.length > 1 && failedAt === 0) {
      const half = Math.ceil(rest.length / 2);
      parts.unshift(
        { records: rest.slice(0, half), attempts: part.attempts },
        { records: rest.slice(half), attempts: part.attempts },
      );
      continue;
    }
    const condition = whyGivenUp(settings, rest, attempts);
    if (!condition) {
      parts.unshift({ records: rest, attempts });
      await progress.wait(attempts - 1);
      continue;
    }
    const batch = describeDiscarded(settings, shardId, rest, { condition, attempts, outcome });
    if (await handOver(settings, batch, rest, progress))
      progress.done(sequenceOf(rest.at(-1) ?? {}));
    else return;
  }
}

/** The index of the first record that failed; the number of records when none did. */
function firstFailure(
  settings: DeliverySettings,
  records: readonly StreamRecord[],
  outcome: InvokeOutcome,
): number {
  if (outcome.status === 'error') return 0;
  if (!settings.reportBatchItemFailures) return records.length;
  const failed = failedItems(outcome.payload, records.map(sequenceOf));
  const index = records.findIndex((record) => failed.has(sequenceOf(record)));
  return index < 0 ? records.length : index;
}

function whyGivenUp(
  { maxRetryAttempts, maxRecordAgeMs }: DeliverySettings,
  records: readonly StreamRecord[],
  attempts: number,
): DiscardedBatch['requestContext']['condition'] | undefined {
  if (maxRetryAttempts >= 0 && attempts > maxRetryAttempts) return 'RetryAttemptsExhausted';
  const createdAt = records[0]?.dynamodb?.ApproximateCreationDateTime;
  if (maxRecordAgeMs >= 0 && createdAt && Date.now() - +createdAt > maxRecordAgeMs) {
    return 'RecordAgeExceeded';
  }
  return undefined;
}

async function handOver(
  settings: DeliverySettings,
  batch: DiscardedBatch,
  records: readonly StreamRecord[],
  progress: DeliveryProgress,
): Promise<boolean> {
  for (let retry = 0; !progress.signal.aborted; retry += 1) {
    try {
      await settings.onFailure(batch, records);
      return true;
    } catch (error) {
      console.error(`lambda ${settings.invoker.name}: on-failure destination:`, error);
      await progress.wait(retry);
    }
  }
  return false;
}

function describeDiscarded(
  settings: DeliverySettings,
  shardId: string,
  records: readonly StreamRecord[],
  end: {
    condition: DiscardedBatch['requestContext']['condition'];
    attempts: number;
    outcome: InvokeOutcome;
  },
): DiscardedBatch {
  const arrival = (record: StreamRecord | undefined) =>
    new Date(record?.dynamodb?.ApproximateCreationDateTime ?? 0).toISOString();
  const [first, last] = [records[0], records.at(-1)];
  return {
    requestContext: {
      requestId: randomUUID(),
      functionArn: settings.invoker.arn,
      condition: end.condition,
      approximateInvokeCount: end.attempts,
    },
    responseContext: {
      statusCode: 200,
      executedVersion: '$LATEST',
      functionError: end.outcome.status === 'error' ? 'Unhandled' : null,
    },
    version: '1.0',
    timestamp: new Date().toISOString(),
    DDBStreamBatchInfo: {
      shardId,
      startSequenceNumber: sequenceOf(first ?? {}),
      endSequenceNumber: sequenceOf(last ?? {}),
      approximateArrivalOfFirstRecord: arrival(first),
      approximateArrivalOfLastRecord: arrival(last),
      batchSize: records.length,
      streamArn: settings.streamArn,
    },
  };
}
