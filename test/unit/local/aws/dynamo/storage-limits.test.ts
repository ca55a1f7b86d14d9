import { createHash } from 'node:crypto';
import { UpdateItemCommand, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failure, keySchema, type TestTable, wire } from '#test/contract/aws/dynamo/fixture.ts';
import { type Embedded, startEmbedded } from './embedded.ts';

let embedded: Embedded;
let table: TestTable;
beforeEach(async () => {
  embedded = await startEmbedded();
  table = await embedded.table();
});
afterEach(() => embedded.close());

/** Two partition keys whose items dynalite alone would file under one index key. */
function collidingKeys(sk: string): [string, string] {
  const seen = new Map<string, string>();
  for (let n = 0; ; n += 1) {
    const pk = `run${n}`;
    const prefix = createHash('md5').update(`Outliers${pk}${sk}`).digest('hex').slice(0, 6);
    const other = seen.get(prefix);
    if (other) return [other, pk];
    seen.set(prefix, pk);
  }
}

describe('an index', () => {
  it('keeps apart two items with equal index keys and equal key hashes', async () => {
    const keys = collidingKeys('HEAD');
    for (const pk of keys) await table.put({ pk, sk: 'HEAD', owner: 'o', at: 'now' });
    const find = async () => {
      const { rows } = await table.query('#o = :o', {
        IndexName: 'byOwner',
        ExpressionAttributeNames: { '#o': 'owner' },
        values: { ':o': 'o' },
      });
      return rows.map((row) => row.pk);
    };
    expect((await find()).sort()).toEqual([...keys].sort());
    await table.delete(keys[0], 'HEAD');
    expect(await find()).toEqual([keys[1]]);
  });

  it('cannot be added to or removed from a table, and the answer says so', async () => {
    const update = (change: object) =>
      table.dynamo.send(
        new UpdateTableCommand({
          TableName: table.name,
          AttributeDefinitions: [{ AttributeName: 'g', AttributeType: 'S' }],
          GlobalSecondaryIndexUpdates: [change],
        }),
      );
    const KeySchema = keySchema('g');
    const Create = { IndexName: 'byG', KeySchema, Projection: { ProjectionType: 'ALL' } };
    for (const change of [{ Create }, { Delete: { IndexName: 'byOwner' } }]) {
      const error = await failure(update(change), 'ValidationException');
      expect(error.message).toContain('cannot add, change or remove indexes');
    }
    await table.put({ pk: 'a', sk: 'a', owner: 'o', at: 'a' });
    const still = await table.query('#o = :o', {
      IndexName: 'byOwner',
      ExpressionAttributeNames: { '#o': 'owner' },
      values: { ':o': 'o' },
    });
    expect(still.rows).toHaveLength(1);
  });
});

describe('arithmetic', () => {
  it('rejects a sum of more than 38 digits and keeps the item', async () => {
    await table.put({ pk: 'a', sk: 'a', n: 0.1 });
    for (const expression of ['ADD n :n', 'SET n = n + :n', 'SET n = n - :n']) {
      const update = new UpdateItemCommand({
        TableName: table.name,
        Key: wire({ pk: 'a', sk: 'a' }),
        UpdateExpression: expression,
        ExpressionAttributeValues: { ':n': { N: '1e38' } },
      });
      await failure(table.dynamo.send(update), 'ValidationException');
    }
    expect(await table.get('a', 'a')).toMatchObject({ n: 0.1 });
  });
});
