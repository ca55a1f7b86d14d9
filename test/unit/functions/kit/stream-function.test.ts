import type { Context, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { type RecordPlace, streamFunction } from '../../../../functions/kit/stream-function.ts';

const record = (n: number, change: Partial<DynamoDBRecord> = {}): DynamoDBRecord => ({
  eventName: 'INSERT',
  dynamodb: {
    SequenceNumber: String(n),
    ApproximateCreationDateTime: 1_796_000_000,
    NewImage: { n: { N: String(n) } },
  },
  ...change,
});

const invoke = (
  Records: DynamoDBRecord[],
  run: (entries: readonly RecordPlace[]) => Promise<string | undefined>,
  read: (image: unknown, place: RecordPlace) => RecordPlace | undefined = (_image, place) => place,
) => streamFunction({ read, run })({ Records } as DynamoDBStreamEvent, {} as Context);

describe('a function behind the stream', () => {
  it('is told of insertions that its consumer knows, with their places', async () => {
    const seen: RecordPlace[] = [];
    const answer = await invoke(
      [record(1), record(2, { eventName: 'MODIFY' }), record(3), record(4)],
      async (entries) => {
        seen.push(...entries);
        return undefined;
      },
      (image, place) => ((image as { n: { N: string } }).n.N === '3' ? undefined : place),
    );
    expect(seen).toEqual([
      { record: '1', storedAtMs: 1_796_000_000_000 },
      { record: '4', storedAtMs: 1_796_000_000_000 },
    ]);
    expect(answer).toEqual({ batchItemFailures: [] });
  });

  it('B55 answers with the record from which the stream is to begin again', async () => {
    expect(await invoke([record(1), record(2)], async () => '2')).toEqual({
      batchItemFailures: [{ itemIdentifier: '2' }],
    });
  });

  it('B55 fails as a whole when it would name a record that it was not given', async () => {
    await expect(invoke([record(1)], async () => '7')).rejects.toThrow('not an item');
  });
});
