import type { _Record as StreamRecord } from '@aws-sdk/client-dynamodb-streams';
import type { DynamoDBStreamEvent } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import {
  type DeliverySettings,
  type DiscardedBatch,
  deliverRecords,
} from '#local/lambda/stream-delivery.ts';
import { toStreamEvent } from '#local/lambda/stream-event.ts';
import { ScriptedInvoker } from './scripted-invoker.ts';

const record = (sequence: number): StreamRecord => ({
  dynamodb: {
    SequenceNumber: String(sequence),
    ApproximateCreationDateTime: new Date('2026-01-02T03:04:05.600Z'),
  },
});
const records = (...sequences: number[]) => sequences.map(record);
const sequencesOf = (event: DynamoDBStreamEvent): number[] =>
  event.Records.map((each) => Number(each.dynamodb?.SequenceNumber));

async function deliver(
  answer: (sequences: number[]) => unknown,
  sequences: number[],
  settings: Partial<DeliverySettings> = {},
) {
  const invoked: number[][] = [];
  const done: number[] = [];
  const retries: number[] = [];
  const discarded: DiscardedBatch[] = [];
  const stopping = new AbortController();
  const invoker = new ScriptedInvoker((event: DynamoDBStreamEvent) => {
    invoked.push(sequencesOf(event));
    return answer(sequencesOf(event));
  });
  await deliverRecords(
    {
      invoker,
      streamArn: 'arn:stream',
      reportBatchItemFailures: false,
      bisect: false,
      maxRetryAttempts: 2,
      maxRecordAgeMs: -1,
      onFailure: (batch) => void discarded.push(batch),
      ...settings,
    },
    'shard-1',
    records(...sequences),
    {
      signal: stopping.signal,
      done: (sequence) => void done.push(Number(sequence)),
      wait: async (retry) => void retries.push(retry),
    },
  );
  return { invoked, done, retries, discarded, stopping };
}

const failOn = (poison: number) => (sequences: number[]) => {
  if (sequences.includes(poison)) throw new Error('poison');
};
const report =
  (...failed: number[]) =>
  (sequences: number[]) => ({
    batchItemFailures: sequences
      .filter((sequence) => failed.includes(sequence))
      .map((sequence) => ({ itemIdentifier: String(sequence) })),
  });

describe('records of a stream', () => {
  it('are done together when the function succeeds', async () => {
    const { invoked, done } = await deliver(() => null, [1, 2, 3]);
    expect(invoked).toEqual([[1, 2, 3]]);
    expect(done).toEqual([3]);
  });

  it('are retried together, with growing waits, and then given up together', async () => {
    const { invoked, retries, done, discarded } = await deliver(failOn(2), [1, 2, 3]);
    expect(invoked).toEqual([
      [1, 2, 3],
      [1, 2, 3],
      [1, 2, 3],
    ]);
    expect(retries).toEqual([0, 1]);
    expect(done).toEqual([3]);
    expect(discarded).toMatchObject([
      {
        requestContext: { condition: 'RetryAttemptsExhausted', approximateInvokeCount: 3 },
        responseContext: { functionError: 'Unhandled' },
        version: '1.0',
        DDBStreamBatchInfo: {
          shardId: 'shard-1',
          startSequenceNumber: '1',
          endSequenceNumber: '3',
          batchSize: 3,
          streamArn: 'arn:stream',
          approximateArrivalOfFirstRecord: '2026-01-02T03:04:05.600Z',
        },
      },
    ]);
  });

  it('are halved until the one that fails is alone, and only that one is given up', async () => {
    const { invoked, done, discarded } = await deliver(failOn(3), [1, 2, 3, 4], {
      bisect: true,
      maxRetryAttempts: 1,
    });
    expect(invoked).toEqual([[1, 2, 3, 4], [1, 2], [3, 4], [3], [3], [4]]);
    expect(done).toEqual([2, 3, 4]);
    expect(discarded.map((batch) => batch.DDBStreamBatchInfo.startSequenceNumber)).toEqual(['3']);
  });

  it('go on from the first one that was reported', async () => {
    let failures = 1;
    const { invoked, done } = await deliver(
      (sequences) => report(...(failures-- > 0 ? [2, 3] : []))(sequences),
      [1, 2, 3, 4],
      { reportBatchItemFailures: true },
    );
    expect(invoked).toEqual([
      [1, 2, 3, 4],
      [2, 3, 4],
    ]);
    expect(done).toEqual([1, 4]);
  });

  it('that are reported again and again are given up with those behind them', async () => {
    const { invoked, done, discarded } = await deliver(report(2), [1, 2, 3], {
      reportBatchItemFailures: true,
      maxRetryAttempts: 1,
    });
    expect(invoked).toEqual([
      [1, 2, 3],
      [2, 3],
    ]);
    expect(done).toEqual([1, 3]);
    expect(discarded).toMatchObject([
      { DDBStreamBatchInfo: { batchSize: 2 }, responseContext: { functionError: null } },
    ]);
  });

  it('that are reported lose only themselves when batches are halved', async () => {
    const { done, discarded } = await deliver(report(2), [1, 2, 3, 4], {
      reportBatchItemFailures: true,
      bisect: true,
      maxRetryAttempts: 1,
    });
    expect(discarded.map((batch) => batch.DDBStreamBatchInfo.endSequenceNumber)).toEqual(['2']);
    expect(done).toEqual([1, 2, 3, 4]);
  });

  it('all fail when the answer names none of them', async () => {
    const { discarded } = await deliver(
      () => ({ batchItemFailures: [{ itemIdentifier: '99' }] }),
      [1, 2],
      { reportBatchItemFailures: true, maxRetryAttempts: 0 },
    );
    expect(discarded).toMatchObject([{ DDBStreamBatchInfo: { batchSize: 2 } }]);
  });

  it('that are too old are given up at their first failure', async () => {
    const { invoked, discarded } = await deliver(failOn(1), [1], {
      maxRetryAttempts: -1,
      maxRecordAgeMs: 1_000,
    });
    expect(invoked).toHaveLength(1);
    expect(discarded).toMatchObject([{ requestContext: { condition: 'RecordAgeExceeded' } }]);
  });

  it('are not done before the destination has taken what was given up', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
    let refusals = 2;
    const { done, retries } = await deliver(failOn(1), [1], {
      maxRetryAttempts: 0,
      onFailure: () => {
        refusals -= 1;
        if (refusals >= 0) throw new Error('queue is gone');
      },
    });
    expect(retries).toEqual([0, 1]);
    expect(printed).toHaveBeenCalledTimes(2);
    expect(done).toEqual([1]);
  });

  it('are left for later when the source stops', async () => {
    const stopping = new AbortController();
    const done: string[] = [];
    const invoker = new ScriptedInvoker(() => {
      stopping.abort();
      throw new Error('stopped meanwhile');
    });
    await deliverRecords(
      {
        invoker,
        streamArn: 'arn:stream',
        reportBatchItemFailures: false,
        bisect: false,
        maxRetryAttempts: -1,
        maxRecordAgeMs: -1,
        onFailure: () => {},
      },
      'shard-1',
      records(1, 2),
      {
        signal: stopping.signal,
        done: (sequence) => void done.push(sequence),
        wait: async () => {},
      },
    );
    expect(invoker.events).toHaveLength(1);
    expect(done).toEqual([]);
  });
});

it('a stream record has the form that functions get', () => {
  const event = toStreamEvent(
    [
      {
        eventID: 'e1',
        eventName: 'REMOVE',
        eventVersion: '1.1',
        eventSource: 'aws:dynamodb',
        awsRegion: 'us-east-1',
        userIdentity: { Type: 'Service', PrincipalId: 'dynamodb.amazonaws.com' },
        dynamodb: {
          ...record(7).dynamodb,
          StreamViewType: 'NEW_AND_OLD_IMAGES',
          SizeBytes: 42,
          Keys: { pk: { S: 'a' } },
          OldImage: {
            pk: { S: 'a' },
            bytes: { B: new Uint8Array([1, 2, 3]) },
            deep: { M: { list: { L: [{ BS: [new Uint8Array([255])] }, { NULL: true }] } } },
          },
        },
      },
    ],
    'arn:stream',
  );
  expect(event).toEqual({
    Records: [
      {
        eventID: 'e1',
        eventName: 'REMOVE',
        eventVersion: '1.1',
        eventSource: 'aws:dynamodb',
        awsRegion: 'us-east-1',
        eventSourceARN: 'arn:stream',
        userIdentity: { type: 'Service', principalId: 'dynamodb.amazonaws.com' },
        dynamodb: {
          ApproximateCreationDateTime: 1767323045,
          SequenceNumber: '7',
          StreamViewType: 'NEW_AND_OLD_IMAGES',
          SizeBytes: 42,
          Keys: { pk: { S: 'a' } },
          OldImage: {
            pk: { S: 'a' },
            bytes: { B: 'AQID' },
            deep: { M: { list: { L: [{ BS: ['/w=='] }, { NULL: true }] } } },
          },
        },
      },
    ],
  });
});
