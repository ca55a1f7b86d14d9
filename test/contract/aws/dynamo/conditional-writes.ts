import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type DynamoPart, failure, plain, TestTable } from './fixture.ts';

const FAILED = 'ConditionalCheckFailedException';
const INVALID = 'ValidationException';

/** Conditions, and what a failed one answers. */
export function conditionalWrites({ it, target }: DynamoPart): void {
  describe('conditional writes', () => {
    let table: TestTable;
    beforeAll(async () => {
      table = await new TestTable(target()).create();
    });
    afterAll(() => table.drop());

    it('puts an item only if it is absent', async () => {
      const row = { pk: 'run', sk: 'absent', by: 'first' };
      await table.put(row, { ConditionExpression: 'attribute_not_exists(pk)' });
      const again = { ...row, by: 'second' };
      const call = table.put(again, { ConditionExpression: 'attribute_not_exists(pk)' });
      const error = await failure(call, FAILED);
      expect(error.message).toBe('The conditional request failed');
      expect(error.Item).toBeUndefined();
      expect(await table.get('run', 'absent')).toEqual(row);
    });

    it('updates and deletes only if the condition holds', async () => {
      await table.put({ pk: 'run', sk: 'epoch', epoch: 3 });
      const stale = { ConditionExpression: 'epoch = :e', values: { ':e': 2 } };
      const raised = { ...stale, values: { ':e': 2, ':n': 9 } };
      await failure(table.update('run', 'epoch', 'SET epoch = :n', raised), FAILED);
      await failure(table.delete('run', 'epoch', stale), FAILED);
      expect(await table.get('run', 'epoch')).toMatchObject({ epoch: 3 });
      const current = { ConditionExpression: 'epoch = :e', values: { ':e': 3, ':n': 4 } };
      await table.update('run', 'epoch', 'SET epoch = :n', current);
      const last = { ConditionExpression: 'epoch = :e', values: { ':e': 4 } };
      await table.delete('run', 'epoch', last);
      expect(await table.get('run', 'epoch')).toBeUndefined();
    });

    it('answers the item that failed a put, in wire form, when ALL_OLD is asked', async () => {
      const row = { pk: 'log', sk: '0001', first: 7, body: new Uint8Array([0, 255]) };
      await table.put(row);
      const call = table.put(
        { pk: 'log', sk: '0001', first: 8 },
        {
          ConditionExpression: 'attribute_not_exists(pk)',
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
      );
      const error = await failure(call, FAILED);
      expect(error.Item?.first).toEqual({ N: '7' });
      expect(plain(error.Item)).toEqual(row);
    });

    it('answers the item that failed an update or a delete when ALL_OLD is asked', async () => {
      await table.put({ pk: 'run', sk: 'state', state: 'completed' });
      const condition = {
        ConditionExpression: '#s = :s',
        ExpressionAttributeNames: { '#s': 'state' },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
        values: { ':s': 'running' },
      };
      const update = table.update('run', 'state', 'SET #s = :s', condition);
      expect(plain((await failure(update, FAILED)).Item)).toMatchObject({ state: 'completed' });
      const remove = table.delete('run', 'state', condition);
      expect(plain((await failure(remove, FAILED)).Item)).toMatchObject({ state: 'completed' });
    });

    it('answers no item when the condition failed on nothing', async () => {
      const call = table.update('run', 'nothing', 'SET a = :a', {
        ConditionExpression: 'attribute_exists(pk)',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        values: { ':a': 1 },
      });
      expect((await failure(call, FAILED)).Item).toBeUndefined();
      expect(await table.get('run', 'nothing')).toBeUndefined();
    });

    const row = {
      pk: 'operators',
      sk: '1',
      text: 'hello',
      empty: '',
      n: 5,
      list: ['a', 2, { deep: true }],
      tags: new Set(['x', 'y']),
      map: { inner: { flag: false } },
      nothing: null,
      flag: false,
      bytes: new Uint8Array([1, 2, 3]),
    };
    const values: Record<string, unknown> = {
      ':five': 5,
      ':four': 4,
      ':six': 6,
      ':ten': 10,
      ':he': 'he',
      ':ell': 'ell',
      ':zz': 'zz',
      ':x': 'x',
      ':z': 'z',
      ':false': false,
      ':empty': '',
      ':list': ['a', 2, { deep: true }],
      ':map': { inner: { flag: false } },
      ':member': { deep: true },
      ':yx': new Set(['y', 'x']),
      ':N': 'N',
      ':S': 'S',
      ':BOOL': 'BOOL',
      ':NULL': 'NULL',
      ':M': 'M',
      ':12': new Uint8Array([1, 2]),
      ':23': new Uint8Array([2, 3]),
      ':zero': 0,
      ':two': 2,
      ':three': 3,
    };
    const holding: readonly string[] = [
      'n = :five AND n <> :six AND n > :four AND n >= :five AND n < :ten AND n <= :five',
      'n BETWEEN :four AND :six AND NOT n BETWEEN :six AND :ten',
      'n IN (:four, :five) AND NOT n IN (:four, :six)',
      'begins_with(#text, :he) AND contains(#text, :ell) AND NOT contains(#text, :zz)',
      'contains(tags, :x) AND NOT contains(tags, :z)',
      'contains(#list, :member) AND contains(#list, :two)',
      'tags = :yx AND #list = :list AND #map = :map',
      'size(#text) = :five AND size(tags) = :two AND size(#list) = :three AND size(#bytes) = :three',
      'attribute_type(n, :N) AND attribute_type(#text, :S) AND attribute_type(#map, :M)',
      'attribute_type(flag, :BOOL) AND attribute_type(nothing, :NULL)',
      'attribute_exists(nothing) AND attribute_exists(#map.#inner.flag) AND attribute_exists(#list[2].deep)',
      'attribute_not_exists(absent) AND attribute_not_exists(#list[3]) AND attribute_not_exists(#map.nope)',
      'flag = :false AND flag IN (:false) AND #map.#inner.flag = :false',
      'begins_with(#bytes, :12) AND NOT begins_with(#bytes, :23)',
      'absent <> :five AND NOT absent = :five AND NOT absent < :five',
      'NOT #text = :five AND NOT #text < :five AND #text <> :five',
      '(n = :four OR n = :five) AND (n = :six OR NOT n = :ten)',
      'attribute_exists(#empty) AND #empty = :empty AND attribute_type(#empty, :S)',
      'size(#empty) = :zero',
    ];
    const names: Record<string, string> = {
      '#text': 'text',
      '#list': 'list',
      '#map': 'map',
      '#inner': 'inner',
      '#empty': 'empty',
      '#bytes': 'bytes',
    };
    const used = <T>(all: Record<string, T>, expression: string) => {
      const mine = Object.entries(all).filter(([name]) =>
        new RegExp(`${name.replace('#', '\\#')}\\b`).test(expression),
      );
      return mine.length > 0 ? Object.fromEntries(mine) : undefined;
    };
    for (const ConditionExpression of holding) {
      it(`finds true: ${ConditionExpression}`, async () => {
        await table.put(row);
        const condition = {
          ConditionExpression,
          ExpressionAttributeNames: used(names, ConditionExpression),
          values: used(values, ConditionExpression),
        };
        await table.put(row, condition);
        const opposite = { ...condition, ConditionExpression: `NOT (${ConditionExpression})` };
        await failure(table.put(row, opposite), FAILED);
      });
    }

    it('orders strings by their UTF-8 bytes', async () => {
      const condition = 'begins_with(sk, :o) AND emoji > :bmp';
      await table.put({ pk: 'order', sk: 'o', emoji: '\u{1F600}' });
      // In UTF-16 the emoji's first unit, D83D, sorts before FF5E.
      const last = {
        ConditionExpression: condition,
        values: { ':o': 'o', ':bmp': '\uFF5E', ':v': 1 },
      };
      await table.update('order', 'o', 'SET v = :v', last);
      expect(await table.get('order', 'o')).toHaveProperty('v', 1);
    });

    it('keeps 38 digits of a number exactly, in conditions too', async () => {
      const digits = '12345678901234567890123456789012345678';
      const Key = { pk: { S: 'number' }, sk: { S: '38' } };
      const TableName = table.name;
      await table.dynamo.send(
        new PutItemCommand({ TableName, Item: { ...Key, n: { N: digits } } }),
      );
      const { Item } = await table.dynamo.send(new GetItemCommand({ TableName, Key }));
      expect(Item?.n).toEqual({ N: digits });
      const unlike = { N: '12345678901234567890123456789012345679' };
      const call = table.dynamo.send(
        new PutItemCommand({
          TableName,
          Item: Key,
          ConditionExpression: 'n = :n',
          ExpressionAttributeValues: { ':n': unlike },
        }),
      );
      await failure(call, FAILED);
    });

    it('takes numbers for equal whatever their notation', async () => {
      await table.put({ pk: 'number', sk: 'notation', n: 100 });
      await table.dynamo.send(
        new PutItemCommand({
          TableName: table.name,
          Item: { pk: { S: 'number' }, sk: { S: 'notation' }, n: { N: '1' } },
          ConditionExpression: 'n = :n',
          ExpressionAttributeValues: { ':n': { N: '1.00e2' } },
        }),
      );
      expect(await table.get('number', 'notation')).toHaveProperty('n', 1);
    });

    const broken: Record<string, { expression: string; values?: object; names?: object }> = {
      'a value that is not used': { expression: 'attribute_exists(pk)', values: { ':u': 1 } },
      'a name that is not used': { expression: 'attribute_exists(pk)', names: { '#u': 'u' } },
      'a value that is not given': { expression: 'v = :missing', values: { ':u': 1 } },
      'a name that is not given': { expression: '#missing = :u', values: { ':u': 1 } },
      'a reserved word': { expression: 'status = :u', values: { ':u': 1 } },
      'a syntax error': { expression: 'attribute_not_exists(pk' },
    };
    for (const [what, { expression, values, names }] of Object.entries(broken)) {
      it(`rejects a condition with ${what}`, async () => {
        const call = table.put(
          { pk: 'broken', sk: '1' },
          {
            ConditionExpression: expression,
            ...(values && { values: { ...values } }),
            ...(names && { ExpressionAttributeNames: { ...names } }),
          },
        );
        await failure(call, INVALID);
        expect(await table.get('broken', '1')).toBeUndefined();
      });
    }
  });
}
