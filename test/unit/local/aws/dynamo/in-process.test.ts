import {
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  GetItemCommand,
  ListTablesCommand,
  PutItemCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  TrimmedDataAccessException,
} from '@aws-sdk/client-dynamodb-streams';
import { describe, expect, it } from 'vitest';
import { type InProcessOptions, openInProcessDynamo } from '#local/aws/dynamo/in-process.ts';
import { toStreamEvent } from '#local/lambda/stream-event.ts';
import { makeTable } from '#local/stack/make-table.ts';
import { absent, equals, Table } from '#shared/table/index.ts';
import { plain, TestTable, wire } from '#test/contract/aws/dynamo/fixture.ts';
import { NOON } from './embedded.ts';

const NAME = 'nexusdesk';

async function platform(options: Partial<InProcessOptions> = {}) {
  const clock = { now: NOON };
  const dynamo = openInProcessDynamo({ now: () => clock.now, ...options });
  const streamArn = await makeTable(dynamo.client, NAME);
  return { clock, dynamo, streamArn, table: new Table(dynamo.client, NAME) };
}

const due = (table: Table) =>
  table.query({ index: 'due', keys: equals('duePk', 'DUE#1'), limit: 100 });
const timer = (sk: string, dueAt = sk) => ({ pk: 'run', sk, duePk: 'DUE#1', dueAt });

describe('DynamoDB in process', () => {
  it('carries the table module', async () => {
    const { table } = await platform();
    const item = {
      pk: 'a',
      sk: 'b',
      body: new Uint8Array([1, 2, 255]),
      n: 1.5,
      list: [null, true],
    };
    expect(await table.put(item, absent('pk'))).toEqual({ applied: true, item });
    expect(await table.put({ ...item, n: 2 }, absent('pk'))).toEqual({
      applied: false,
      existing: item,
    });
    const refused = await table.transact([
      { put: { pk: 'c', sk: 'c' } },
      { update: { pk: 'a', sk: 'b' }, change: { add: { n: 1 } }, when: equals('n', 7) },
    ]);
    expect(refused).toEqual({ applied: false, refused: [undefined, { existing: item }] });
    expect(await table.get({ pk: 'c', sk: 'c' }, { consistent: true })).toBeUndefined();
  });

  it('takes effect before send returns', async () => {
    const { dynamo } = await platform();
    const put = dynamo.client.send(
      new PutItemCommand({ TableName: NAME, Item: wire({ pk: 'a', sk: 'a' }) }),
    );
    expect(dynamo.takeStreamRecords(undefined, 10)).toHaveLength(1);
    await put;
  });

  it("throws the SDK's exceptions", async () => {
    const { dynamo } = await platform();
    const Item = wire({ pk: 'a', sk: 'a', bytes: new Uint8Array([7]) });
    const guarded = {
      TableName: NAME,
      Item,
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    } as const;
    await dynamo.client.send(new PutItemCommand(guarded));
    const caught = (call: Promise<unknown>): Promise<unknown> =>
      call.then(
        () => undefined,
        (error) => error,
      );
    const refused = await caught(dynamo.client.send(new PutItemCommand(guarded)));
    expect(refused).toBeInstanceOf(ConditionalCheckFailedException);
    expect(refused).toMatchObject({ name: 'ConditionalCheckFailedException', Item });
    const cancelled = await caught(
      dynamo.client.send(new TransactWriteItemsCommand({ TransactItems: [{ Put: guarded }] })),
    );
    expect(cancelled).toBeInstanceOf(TransactionCanceledException);
    expect(cancelled).toMatchObject({
      CancellationReasons: [{ Code: 'ConditionalCheckFailed', Item }],
      $metadata: { httpStatusCode: 400 },
    });
    const invalid = await caught(
      dynamo.client.send(new GetItemCommand({ TableName: NAME, Key: wire({ pk: 'a' }) })),
    );
    expect(invalid).toBeInstanceOf(DynamoDBServiceException);
    expect(invalid).toMatchObject({ name: 'ValidationException' });
  });

  it('keeps apart what callers hold and what is stored', async () => {
    const { dynamo } = await platform();
    const Item = wire({ pk: 'a', sk: 'a', map: { list: [1] } });
    await dynamo.client.send(new PutItemCommand({ TableName: NAME, Item }));
    const Key = wire({ pk: 'a', sk: 'a' });
    const get = async () => {
      const answer = await dynamo.client.send(new GetItemCommand({ TableName: NAME, Key }));
      return answer.Item;
    };
    Item.map?.M?.list?.L?.push({ N: '2' });
    (await get())?.map?.M?.list?.L?.push({ N: '3' });
    const [inserted] = dynamo.takeStreamRecords(undefined, 1);
    inserted?.dynamodb?.NewImage?.map?.M?.list?.L?.push({ N: '4' });
    expect(plain(await get())).toEqual({ pk: 'a', sk: 'a', map: { list: [1] } });
  });

  it('holds index changes back until they are propagated, in the order of each item', async () => {
    let lags = true;
    const { table, dynamo } = await platform({ indexLag: () => lags });
    await table.put(timer('1'));
    await table.put(timer('2'));
    expect((await due(table)).items).toEqual([]);
    lags = false;
    await table.put(timer('3'));
    await table.update({ pk: 'run', sk: '1' }, { set: { dueAt: '9' } });
    expect((await due(table)).items).toEqual([timer('3')]);
    expect(dynamo.heldIndexWrites()).toBe(3);
    expect(dynamo.propagate(1)).toBe(1);
    expect((await due(table)).items).toEqual([timer('1'), timer('3')]);
    expect(dynamo.propagate()).toBe(2);
    expect((await due(table)).items).toEqual([timer('2'), timer('3'), timer('1', '9')]);
    await table.update({ pk: 'run', sk: '1' }, { remove: ['duePk'] });
    expect((await due(table)).items).toEqual([timer('2'), timer('3')]);
    expect(dynamo.heldIndexWrites()).toBe(0);
  });

  it('gives stream records as Lambda does', async () => {
    const { table, dynamo, streamArn, clock } = await platform();
    await table.put({ pk: 'a', sk: 'a', body: new Uint8Array([1]), expiresAt: NOON / 1000 });
    await table.update({ pk: 'a', sk: 'a' }, { set: { n: 2 } });
    clock.now += 1500;
    expect(dynamo.expire()).toBe(1);
    const records = dynamo.takeStreamRecords(undefined, 10);
    expect(records.map((record) => record.eventName)).toEqual(['INSERT', 'MODIFY', 'REMOVE']);
    expect(records[2]?.userIdentity).toEqual({
      type: 'Service',
      principalId: 'dynamodb.amazonaws.com',
    });
    const { streams } = dynamo;
    const StreamArn = streamArn;
    const described = await streams.send(new DescribeStreamCommand({ StreamArn }));
    const ShardId = described.StreamDescription?.Shards?.[0]?.ShardId;
    const from = { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' } as const;
    const { ShardIterator } = await streams.send(new GetShardIteratorCommand(from));
    const { Records = [] } = await streams.send(new GetRecordsCommand({ ShardIterator }));
    expect({ Records: records }).toEqual(toStreamEvent(Records, streamArn));
    const first = records[0]?.dynamodb?.SequenceNumber;
    expect(dynamo.takeStreamRecords(first, 1)).toEqual(records.slice(1, 2));
  });

  it('says when a reader of the stream has lost records', async () => {
    const { table, dynamo, streamArn } = await platform({ streamRetention: 10 });
    for (let n = 0; n < 30; n += 1) await table.put({ pk: 'a', sk: 'a', n });
    const sequences = dynamo
      .takeStreamRecords(undefined, 100)
      .map((record) => record.dynamodb?.SequenceNumber);
    expect(sequences.length).toBeGreaterThanOrEqual(10);
    expect(sequences.length).toBeLessThanOrEqual(11);
    const { StreamDescription } = await dynamo.streams.send(
      new DescribeStreamCommand({ StreamArn: streamArn }),
    );
    const gone = new GetShardIteratorCommand({
      StreamArn: streamArn,
      ShardId: StreamDescription?.Shards?.[0]?.ShardId,
      ShardIteratorType: 'AT_SEQUENCE_NUMBER',
      SequenceNumber: '100000000000000000001',
    });
    await expect(dynamo.streams.send(gone)).rejects.toThrow(TrimmedDataAccessException);
  });

  it('expires by the time it is given', async () => {
    const { table, dynamo } = await platform();
    const item = { pk: 'a', sk: 'a', expiresAt: NOON / 1000 + 60 };
    await table.put(item);
    expect(dynamo.expire()).toBe(0);
    expect(dynamo.expire(NOON + 61_000)).toBe(1);
    const [, removed] = dynamo.takeStreamRecords(undefined, 10);
    expect(removed?.dynamodb?.ApproximateCreationDateTime).toBe(NOON / 1000 + 61);
  });

  it('does the same again after a reset', async () => {
    const { table, dynamo } = await platform({ indexLag: () => true });
    const work = async () => {
      await table.put({ ...timer('1'), expiresAt: NOON / 1000 - 1 });
      await table.put(timer('2'));
      dynamo.propagate(1);
      dynamo.expire();
      return {
        due: await due(table),
        records: dynamo.takeStreamRecords(undefined, 10),
        held: dynamo.heldIndexWrites(),
      };
    };
    const first = await work();
    expect(first.records).toHaveLength(3);
    dynamo.reset();
    expect(dynamo.takeStreamRecords(undefined, 10)).toEqual([]);
    expect(dynamo.heldIndexWrites()).toBe(0);
    expect((await due(table)).items).toEqual([]);
    expect(await work()).toEqual(first);
  });

  it('keeps several tables, each with its stream', async () => {
    const { dynamo, table } = await platform();
    const other = await new TestTable({
      dynamo: dynamo.client,
      streams: dynamo.streams,
    }).create();
    await table.put({ pk: 'a', sk: 'a' });
    await other.put({ pk: 'b', sk: 'b' });
    const listed = await dynamo.client.send(new ListTablesCommand({}));
    expect(listed.TableNames).toEqual([other.name, NAME]);
    const [record, ...more] = dynamo.takeStreamRecords(undefined, 10, NAME);
    expect(record?.dynamodb?.Keys).toEqual(wire({ pk: 'a', sk: 'a' }));
    expect(more).toEqual([]);
    expect(() => dynamo.takeStreamRecords(undefined, 10)).toThrow('several');
  });
});
