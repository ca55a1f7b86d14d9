import { DescribeTimeToLiveCommand, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
  type ShardIteratorType,
  type _Record as StreamRecord,
} from '@aws-sdk/client-dynamodb-streams';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { type DynamoPart, failure, plain, TestTable } from './fixture.ts';

/** Reads a stream as the platform's outbox does. Every test has a stream of its own, on a fresh table. */
class StreamReader {
  readonly table: TestTable;
  constructor(table: TestTable) {
    this.table = table;
  }

  async shards() {
    const { StreamDescription } = await this.table.streams.send(
      new DescribeStreamCommand({ StreamArn: this.table.streamArn }),
    );
    return StreamDescription?.Shards ?? [];
  }

  async iterator(ShardIteratorType: ShardIteratorType, SequenceNumber?: string) {
    const [shard] = await this.shards();
    const { ShardIterator } = await this.table.streams.send(
      new GetShardIteratorCommand({
        StreamArn: this.table.streamArn,
        ShardId: shard?.ShardId,
        ShardIteratorType,
        SequenceNumber,
      }),
    );
    return ShardIterator;
  }

  /** What there is from an iterator on, read in pages of `Limit`. */
  async from(iterator: string | undefined, Limit = 1000): Promise<StreamRecord[]> {
    const records: StreamRecord[] = [];
    let ShardIterator = iterator;
    while (ShardIterator) {
      const answer = await this.table.streams.send(new GetRecordsCommand({ ShardIterator, Limit }));
      if (!answer.Records?.length) break;
      records.push(...answer.Records);
      ShardIterator = answer.NextShardIterator;
    }
    return records;
  }

  async all(): Promise<StreamRecord[]> {
    return this.from(await this.iterator('TRIM_HORIZON'));
  }
}

const summary = ({ eventName, dynamodb }: StreamRecord) => [eventName, plain(dynamodb?.Keys)?.sk];

/** Streams and Time to Live. */
export function streamsAndTimeToLive({ it, target }: DynamoPart): void {
  describe('streams', () => {
    let table: TestTable;
    let reader: StreamReader;
    beforeAll(async () => {
      table = await new TestTable(target()).create();
      reader = new StreamReader(table);
    });
    afterAll(() => table.drop());

    it('records each change with both images, in order', async () => {
      const start = await reader.iterator('LATEST');
      await table.put({ pk: 'a', sk: '1', n: 1 });
      await table.update('a', '1', 'ADD n :n', { values: { ':n': 1 } });
      await table.delete('a', '1');
      const records = await reader.from(start);
      expect(records.map((record) => record.eventName)).toEqual(['INSERT', 'MODIFY', 'REMOVE']);
      const images = records.map(({ dynamodb }) => [
        plain(dynamodb?.OldImage)?.n,
        plain(dynamodb?.NewImage)?.n,
      ]);
      expect(images).toEqual([
        [undefined, 1],
        [1, 2],
        [2, undefined],
      ]);
      for (const { dynamodb, eventSource, userIdentity } of records) {
        expect(plain(dynamodb?.Keys)).toEqual({ pk: 'a', sk: '1' });
        expect(dynamodb?.StreamViewType).toBe('NEW_AND_OLD_IMAGES');
        expect(eventSource).toBe('aws:dynamodb');
        expect(userIdentity).toBeUndefined();
      }
      const ids = records.map((record) => record.eventID);
      expect(new Set(ids).size).toBe(3);
      const sequence = records.map(({ dynamodb }) => BigInt(dynamodb?.SequenceNumber ?? 0));
      expect(sequence).toEqual([...sequence].sort((left, right) => (left < right ? -1 : 1)));
    });

    it('records nothing for a write that fails or changes nothing', async () => {
      await table.put({ pk: 'noop', sk: '1', tags: new Set(['a', 'b']) });
      const start = await reader.iterator('LATEST');
      await table.put({ pk: 'noop', sk: '1', tags: new Set(['b', 'a']) });
      await table.delete('noop', 'missing');
      const absent = { ConditionExpression: 'attribute_not_exists(pk)' };
      await failure(table.put({ pk: 'noop', sk: '1' }, absent), 'ConditionalCheckFailedException');
      const cancelled = [
        table.op.put({ pk: 'noop', sk: '2' }),
        table.op.put({ pk: 'noop', sk: '1' }, absent),
      ];
      await failure(table.transact(cancelled), 'TransactionCanceledException');
      expect((await reader.from(start)).map(summary)).toEqual([]);
    });

    it('records one INSERT for an update that creates its item', async () => {
      const start = await reader.iterator('LATEST');
      await table.update('a', 'created', 'SET n = :n', { values: { ':n': 1 } });
      expect((await reader.from(start)).map(summary)).toEqual([['INSERT', 'created']]);
    });

    it('records every change of a transaction and none of a condition check', async () => {
      await table.put({ pk: 'tx', sk: 'gone' });
      await table.put({ pk: 'tx', sk: 'seen' });
      const start = await reader.iterator('LATEST');
      await table.transact([
        table.op.put({ pk: 'tx', sk: 'put' }),
        table.op.update('tx', 'up', 'SET n = :n', { values: { ':n': 1 } }),
        table.op.delete('tx', 'gone'),
        table.op.check('tx', 'seen', 'attribute_exists(pk)'),
      ]);
      const records = await reader.from(start);
      expect(records.map(summary)).toEqual(
        expect.arrayContaining([
          ['INSERT', 'put'],
          ['INSERT', 'up'],
          ['REMOVE', 'gone'],
        ]),
      );
      expect(records).toHaveLength(3);
    });

    it('resumes at or after a sequence number, and pages', async () => {
      const start = await reader.iterator('LATEST');
      for (const sk of ['r1', 'r2', 'r3', 'r4']) await table.put({ pk: 'r', sk });
      const records = await reader.from(start, 2);
      const names = (found: StreamRecord[]) => found.map((record) => summary(record)[1]);
      expect(names(records)).toEqual(['r1', 'r2', 'r3', 'r4']);
      const second = records[1]?.dynamodb?.SequenceNumber;
      const at = await reader.iterator('AT_SEQUENCE_NUMBER', second);
      const after = await reader.iterator('AFTER_SEQUENCE_NUMBER', second);
      expect(names(await reader.from(at))).toEqual(['r2', 'r3', 'r4']);
      expect(names(await reader.from(after))).toEqual(['r3', 'r4']);
      expect((await reader.all()).length).toBeGreaterThanOrEqual(4);
    });

    it('goes on from an iterator that found nothing', async () => {
      const ShardIterator = await reader.iterator('LATEST');
      const empty = await table.streams.send(new GetRecordsCommand({ ShardIterator }));
      expect(empty.Records).toEqual([]);
      await table.put({ pk: 'later', sk: 'later' });
      const records = await reader.from(empty.NextShardIterator);
      expect(records.map(summary)).toEqual([['INSERT', 'later']]);
    });

    it('lists and describes the stream of a table', async () => {
      const { Streams } = await table.streams.send(
        new ListStreamsCommand({ TableName: table.name }),
      );
      expect(Streams?.map((stream) => stream.StreamArn)).toEqual([table.streamArn]);
      const { StreamDescription } = await table.streams.send(
        new DescribeStreamCommand({ StreamArn: table.streamArn }),
      );
      expect(StreamDescription).toMatchObject({
        StreamStatus: 'ENABLED',
        StreamViewType: 'NEW_AND_OLD_IMAGES',
        TableName: table.name,
      });
    });

    it('does not know a stream that does not exist', async () => {
      const StreamArn = table.streamArn.replace(/stream\/.*/, 'stream/2020-01-01T00:00:00.000');
      const call = table.streams.send(new DescribeStreamCommand({ StreamArn }));
      await failure(call, 'ResourceNotFoundException');
    });

    it('enables Time to Live on one attribute', async () => {
      const set = (Enabled: boolean, AttributeName: string) =>
        table.dynamo.send(
          new UpdateTimeToLiveCommand({
            TableName: table.name,
            TimeToLiveSpecification: { Enabled, AttributeName },
          }),
        );
      const status = async () => {
        const answer = await table.dynamo.send(
          new DescribeTimeToLiveCommand({ TableName: table.name }),
        );
        return answer.TimeToLiveDescription;
      };
      expect((await status())?.TimeToLiveStatus).toBe('DISABLED');
      await set(true, 'expiresAt');
      expect(await status()).toEqual({
        TimeToLiveStatus: 'ENABLED',
        AttributeName: 'expiresAt',
      });
    });

    it('rejects enabling Time to Live twice', async () => {
      const enable = () =>
        table.dynamo.send(
          new UpdateTimeToLiveCommand({
            TableName: table.name,
            TimeToLiveSpecification: { Enabled: true, AttributeName: 'expiresAt' },
          }),
        );
      await enable().catch(() => undefined);
      await failure(enable(), 'ValidationException');
    });

    it('deletes expired items in the name of the service, and no others', async () => {
      const now = Math.floor(Date.now() / 1000);
      const start = await reader.iterator('LATEST');
      const kept = { later: now + 3600, text: String(now - 60), ancient: 60 };
      for (const [sk, expiresAt] of Object.entries(kept)) {
        await table.put({ pk: 'ttl', sk, expiresAt });
      }
      await table.put({ pk: 'ttl', sk: 'over', expiresAt: now - 60 });
      await vi.waitFor(
        async () => expect(await table.get('ttl', 'over'), 'expired item').toBeUndefined(),
        { timeout: 4000, interval: 50 },
      );
      for (const sk of Object.keys(kept)) expect(await table.get('ttl', sk)).toBeDefined();
      const removed = (await reader.from(start)).filter((record) => record.eventName === 'REMOVE');
      expect(removed.map(summary)).toEqual([['REMOVE', 'over']]);
      expect(removed[0]?.userIdentity).toEqual({
        Type: 'Service',
        PrincipalId: 'dynamodb.amazonaws.com',
      });
    });
  });
}
