import { describe, expect, it } from 'vitest';
import { openDynamo } from '#local/aws/dynamo/service.ts';
import { openStateDatabase, type StateDatabase } from '#local/aws/kit/state-database.ts';
import { keySchema, wire } from '#test/contract/aws/dynamo/fixture.ts';

const TableName = 'grouped';

/** A service called without its endpoint, so that what arrives together is known, on a database that tells. */
async function service() {
  const database = openStateDatabase();
  const transactions: string[] = [];
  let failing: string | undefined;
  const state: StateDatabase = new Proxy(database, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      if (name !== 'exec') return member.bind(target);
      return (sql: string) => {
        if (sql === failing) {
          failing = undefined;
          throw new Error('disk full');
        }
        if (['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'].includes(sql)) transactions.push(sql);
        target.exec(sql);
      };
    },
  });
  const { operations, close } = await openDynamo({ state, ttlSweepMs: 0 });
  const { signal } = new AbortController();
  // biome-ignore lint/suspicious/noExplicitAny: answers of several operations
  const call = async (operation: string, input: object): Promise<any> =>
    operations[operation]?.({ TableName, ...input }, { signal });
  await call('CreateTable', {
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    KeySchema: keySchema('pk'),
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
  });
  transactions.length = 0;
  return {
    close,
    transactions,
    failOnce: (sql: string) => {
      failing = sql;
    },
    call,
    put: (pk: string, guarded = false) =>
      call('PutItem', {
        Item: wire({ pk }),
        ...(guarded && { ConditionExpression: 'attribute_not_exists(pk)' }),
      }),
    keys: async () => {
      const { Items } = await call('Scan', {});
      return Items.map((item: { pk: { S: string } }) => item.pk.S).sort();
    },
    streamed: async () => {
      const { Streams } = await call('ListStreams', {});
      const { StreamArn } = Streams[0];
      const { StreamDescription } = await call('DescribeStream', { StreamArn });
      const { ShardIterator } = await call('GetShardIterator', {
        StreamArn,
        ShardId: StreamDescription.Shards[0].ShardId,
        ShardIteratorType: 'TRIM_HORIZON',
      });
      const { Records } = await call('GetRecords', { ShardIterator });
      return Records.map((record: { dynamodb: { Keys: { pk: { S: string } } } }) => {
        return record.dynamodb.Keys.pk.S;
      });
    },
  };
}

const failed = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
  outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.message : 'done'));

describe('writes that arrive together', () => {
  it('are committed together, and not answered before', async () => {
    const { put, transactions, streamed } = await service();
    const answered: string[][] = [];
    const writes = ['a', 'b', 'c'].map((pk) =>
      put(pk).then(() => answered.push([...transactions])),
    );
    expect(transactions).toEqual([]);
    await Promise.all(writes);
    const one = ['BEGIN IMMEDIATE', 'COMMIT'];
    expect(answered).toEqual([one, one, one]);
    expect(await streamed()).toEqual(['a', 'b', 'c']);
  });

  it('see one another, in their order', async () => {
    const { put, keys, streamed } = await service();
    const outcomes = await Promise.allSettled([put('a', true), put('a', true), put('b', true)]);
    expect(failed(outcomes)).toEqual(['done', 'The conditional request failed', 'done']);
    expect(await keys()).toEqual(['a', 'b']);
    expect(await streamed()).toEqual(['a', 'b']);
  });

  it('undo only their own when one of them breaks off', async () => {
    const { put, keys, streamed, failOnce } = await service();
    failOnce('RELEASE dynamo');
    const outcomes = await Promise.allSettled([put('a'), put('b'), put('c')]);
    expect(failed(outcomes)).toEqual(['disk full', 'done', 'done']);
    expect(await keys()).toEqual(['b', 'c']);
    expect(await streamed()).toEqual(['b', 'c']);
    await put('d');
    expect(await streamed()).toEqual(['b', 'c', 'd']);
  });

  it('all fail when their commit does, and leave nothing', async () => {
    const { put, keys, streamed, failOnce } = await service();
    failOnce('COMMIT');
    const outcomes = await Promise.allSettled([put('a'), put('b')]);
    expect(failed(outcomes)).toEqual(['disk full', 'disk full']);
    expect(await keys()).toEqual([]);
    await put('c');
    expect(await keys()).toEqual(['c']);
    expect(await streamed()).toEqual(['c']);
  });

  it('are committed when the service closes', async () => {
    const { put, keys, close } = await service();
    const write = put('a');
    await close();
    await write;
    expect(await keys()).toEqual(['a']);
  });
});
