import { UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
  type ShardIteratorType,
} from '@aws-sdk/client-dynamodb-streams';
import { afterEach, describe, expect, it } from 'vitest';
import { failure, plain, type TestTable } from '#test/contract/aws/dynamo/fixture.ts';
import { type Embedded, startEmbedded } from './embedded.ts';

const MINUTE_MS = 60_000;
const TRIMMED = 'TrimmedDataAccessException';

let embedded: Embedded;
afterEach(() => embedded.close());

async function shardOf(table: TestTable) {
  const { StreamDescription } = await table.streams.send(
    new DescribeStreamCommand({ StreamArn: table.streamArn }),
  );
  return { ...StreamDescription, shard: StreamDescription?.Shards?.[0] };
}

async function iterator(table: TestTable, type: ShardIteratorType, SequenceNumber?: string) {
  const { shard } = await shardOf(table);
  const { ShardIterator } = await table.streams.send(
    new GetShardIteratorCommand({
      StreamArn: table.streamArn,
      ShardId: shard?.ShardId,
      ShardIteratorType: type,
      SequenceNumber,
    }),
  );
  return ShardIterator;
}

function read(table: TestTable, ShardIterator: string | undefined, Limit?: number) {
  return table.streams.send(new GetRecordsCommand({ ShardIterator, Limit }));
}

async function writeMany(table: TestTable, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await table.put({ pk: 'n', sk: String(n) });
}

function setStream(table: TestTable, StreamViewType?: 'KEYS_ONLY' | 'NEW_IMAGE' | 'OLD_IMAGE') {
  return table.dynamo.send(
    new UpdateTableCommand({
      TableName: table.name,
      StreamSpecification: StreamViewType
        ? { StreamEnabled: true, StreamViewType }
        : { StreamEnabled: false },
    }),
  );
}

describe('a stream', () => {
  it('keeps the newest records and says when a reader has lost some', async () => {
    embedded = await startEmbedded({ streamRetention: 20 });
    const table = await embedded.table();
    const start = await iterator(table, 'TRIM_HORIZON');
    const first = await read(table, start, 1);
    await writeMany(table, 50);
    await failure(read(table, start), TRIMMED);
    await failure(read(table, first.NextShardIterator), TRIMMED);
    const kept = (await read(table, await iterator(table, 'TRIM_HORIZON'))).Records ?? [];
    // Trimmed every tenth of the retention.
    expect(kept.length).toBeGreaterThanOrEqual(20);
    expect(kept.length).toBeLessThanOrEqual(22);
    expect(plain(kept.at(-1)?.dynamodb?.Keys)).toEqual({ pk: 'n', sk: '49' });
    const oldest = kept[0]?.dynamodb?.SequenceNumber;
    expect((await shardOf(table)).shard?.SequenceNumberRange?.StartingSequenceNumber).toBe(oldest);
    expect(
      (await read(table, await iterator(table, 'AT_SEQUENCE_NUMBER', oldest))).Records,
    ).toEqual(kept);
    const lost = String(BigInt(oldest ?? 0) - 2n);
    await failure(iterator(table, 'AFTER_SEQUENCE_NUMBER', lost), TRIMMED);
  });

  it('lets an iterator live 15 minutes', async () => {
    embedded = await startEmbedded();
    const table = await embedded.table();
    const old = await iterator(table, 'TRIM_HORIZON');
    embedded.clock.now += 15 * MINUTE_MS;
    expect((await read(table, old)).Records).toEqual([]);
    embedded.clock.now += 1;
    await failure(read(table, old), 'ExpiredIteratorException');
  });

  it('rejects iterators, limits, shards and sequence numbers that cannot be', async () => {
    embedded = await startEmbedded();
    const table = await embedded.table();
    const start = await iterator(table, 'TRIM_HORIZON');
    await failure(read(table, 'bm90aGluZw=='), 'ValidationException');
    await failure(read(table, start, 1001), 'ValidationException');
    await failure(iterator(table, 'AT_SEQUENCE_NUMBER', 'x'), 'ValidationException');
    const shard = new GetShardIteratorCommand({
      StreamArn: table.streamArn,
      ShardId: 'shardId-00000000000000000000-none',
      ShardIteratorType: 'LATEST',
    });
    await failure(table.streams.send(shard), 'ResourceNotFoundException');
  });

  it('answers at most about 1 MB, and always one record', async () => {
    embedded = await startEmbedded();
    const table = await embedded.table();
    for (const n of [1, 2, 3, 4]) {
      await table.put({ pk: 'large', sk: 'x', n, d: 'x'.repeat(390_000) });
    }
    let next = await iterator(table, 'TRIM_HORIZON');
    const pages: number[] = [];
    while (pages.length < 4 && next) {
      const page = await read(table, next);
      pages.push(page.Records?.length ?? 0);
      next = page.NextShardIterator;
    }
    // The first record has one image of 390 KB, the others have two.
    expect(pages).toEqual([1, 1, 1, 1]);
  });

  const views = {
    KEYS_ONLY: [undefined, undefined],
    NEW_IMAGE: [undefined, 2],
    OLD_IMAGE: [1, undefined],
  } as const;
  for (const [view, images] of Object.entries(views)) {
    it(`has the images of its view: ${view}`, async () => {
      embedded = await startEmbedded();
      const table = await embedded.table();
      await table.put({ pk: 'a', sk: 'a', n: 1 });
      await setStream(table);
      const { TableDescription } = await setStream(table, view as keyof typeof views);
      table.streamArn = TableDescription?.LatestStreamArn ?? '';
      await table.put({ pk: 'a', sk: 'a', n: 2 });
      const [record] = (await read(table, await iterator(table, 'TRIM_HORIZON'))).Records ?? [];
      const { Keys, OldImage, NewImage } = record?.dynamodb ?? {};
      expect(plain(Keys)).toEqual({ pk: 'a', sk: 'a' });
      expect([plain(OldImage)?.n, plain(NewImage)?.n]).toEqual(images);
    });
  }

  it('can be read to its end for a day after it is disabled, or its table deleted', async () => {
    embedded = await startEmbedded({ ttlSweepMs: 0 });
    const table = await embedded.table();
    await writeMany(table, 3);
    await table.drop();
    const again = Object.assign(await embedded.table(), { streamArn: table.streamArn });
    expect(await shardOf(again)).toMatchObject({ StreamStatus: 'DISABLED', TableName: table.name });
    const start = await iterator(again, 'TRIM_HORIZON');
    const first = await read(again, start, 2);
    expect(first.Records).toHaveLength(2);
    const last = await read(again, first.NextShardIterator);
    expect(last.Records).toHaveLength(1);
    expect(last.NextShardIterator).toBeUndefined();
  });

  it('is forgotten a day after its end', async () => {
    const clock = { now: Date.UTC(2026, 10, 30) };
    embedded = await startEmbedded({ clock, ttlSweepMs: 5 });
    const table = await embedded.table();
    const listed = async () => {
      const { Streams } = await table.streams.send(new ListStreamsCommand({}));
      return Streams?.map((stream) => stream.StreamArn);
    };
    await setStream(table);
    expect(await listed()).toEqual([table.streamArn]);
    clock.now += 24 * 60 * MINUTE_MS + 1;
    await expect.poll(listed).toEqual([]);
  });

  it('rejects enabling twice and disabling nothing', async () => {
    embedded = await startEmbedded();
    const table = await embedded.table();
    await failure(setStream(table, 'NEW_IMAGE'), 'ValidationException');
    await setStream(table);
    await failure(setStream(table), 'ValidationException');
  });
});
