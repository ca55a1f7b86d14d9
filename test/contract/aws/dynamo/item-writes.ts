import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  PutItemCommand,
  type WriteRequest,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type DynamoPart, failure, plain, TestTable, wire } from './fixture.ts';

const INVALID = 'ValidationException';

/** Update expressions, types of values, limits, batches, and writers that meet. */
export function itemWrites({ it, target }: DynamoPart): void {
  describe('item writes', () => {
    let table: TestTable;
    beforeAll(async () => {
      table = await new TestTable(target()).create();
    });
    afterAll(() => table.drop());

    it('adds to numbers and sets, appends to lists, and answers UPDATED_NEW and ALL_NEW', async () => {
      const first = await table.update(
        'u',
        'all',
        'ADD n :one, tags :a SET notes = list_append(if_not_exists(notes, :none), :x), m = :m',
        {
          values: {
            ':one': 1,
            ':a': new Set(['a']),
            ':none': [],
            ':x': ['x'],
            ':m': { deep: { n: 1 } },
          },
          ReturnValues: 'UPDATED_NEW',
        },
      );
      expect(plain(first.Attributes)).toEqual({
        n: 1,
        tags: new Set(['a']),
        notes: ['x'],
        m: { deep: { n: 1 } },
      });
      const second = await table.update(
        'u',
        'all',
        'ADD n :two, tags :b SET notes = list_append(:y, notes), m.deep.n = m.deep.n - :two REMOVE nope',
        {
          values: { ':two': 2, ':b': new Set(['b']), ':y': ['y'] },
          ReturnValues: 'ALL_NEW',
        },
      );
      expect(plain(second.Attributes)).toEqual({
        pk: 'u',
        sk: 'all',
        n: 3,
        tags: new Set(['a', 'b']),
        notes: ['y', 'x'],
        m: { deep: { n: -1 } },
      });
      const third = await table.update('u', 'all', 'DELETE tags :both REMOVE m.deep', {
        values: { ':both': new Set(['a', 'b']) },
        ReturnValues: 'ALL_OLD',
      });
      expect(plain(third.Attributes)).toMatchObject({ tags: new Set(['a', 'b']) });
      expect(await table.get('u', 'all')).toEqual({
        pk: 'u',
        sk: 'all',
        n: 3,
        notes: ['y', 'x'],
        m: {},
      });
    });

    it('creates the item an update names, and the number an ADD names', async () => {
      await table.update('u', 'new', 'ADD n :n', { values: { ':n': -3 } });
      expect(await table.get('u', 'new')).toEqual({ pk: 'u', sk: 'new', n: -3 });
    });

    it('reads every operand of an update as it was before', async () => {
      await table.put({ pk: 'u', sk: 'was', n: 1, a: 'a', b: 'b' });
      await table.update('u', 'was', 'SET was = n, a = b, b = a ADD n :one', {
        values: { ':one': 1 },
      });
      expect(await table.get('u', 'was')).toMatchObject({ was: 1, n: 2, a: 'b', b: 'a' });
    });

    it('removes list members by the positions they had before', async () => {
      await table.put({ pk: 'u', sk: 'list', list: ['a', 'b', 'c', 'd'] });
      await table.update('u', 'list', 'REMOVE #l[0], #l[2]', {
        ExpressionAttributeNames: { '#l': 'list' },
      });
      expect(await table.get('u', 'list')).toMatchObject({ list: ['b', 'd'] });
    });

    it('lets an attribute have any name, such as toString', async () => {
      await table.update('u', 'names', 'SET #c = if_not_exists(#c, :one) ADD #t :one', {
        ExpressionAttributeNames: { '#t': 'toString', '#c': 'constructor' },
        ConditionExpression: 'attribute_not_exists(#t)',
        values: { ':one': 1 },
      });
      const row = await table.get('u', 'names');
      expect(row && Object.entries(row)).toEqual(
        expect.arrayContaining([
          ['toString', 1],
          ['constructor', 1],
        ]),
      );
    });

    const impossible: Record<string, [string, Record<string, unknown>]> = {
      'that adds to a string': ['ADD txt :v', { ':v': 1 }],
      'of overlapping paths': ['SET m.a = :v, m.a.b = :v', { ':v': 1 }],
      'below a map that is missing': ['SET nope.a = :v', { ':v': 1 }],
      'of a key attribute': ['SET sk = :v', { ':v': 'other' }],
      'that reads a missing attribute': ['SET a = nope + :v', { ':v': 1 }],
      'to the wrong type of an index key': ['SET due = :v', { ':v': 1 }],
      'with a reserved word': ['SET status = :v', { ':v': 1 }],
    };
    for (const [what, [expression, values]] of Object.entries(impossible)) {
      it(`rejects an update ${what}`, async () => {
        await table.put({ pk: 'u', sk: 'no', txt: 'text', m: { a: {} } });
        await failure(table.update('u', 'no', expression, { values }), INVALID);
        expect(await table.get('u', 'no')).toEqual({
          pk: 'u',
          sk: 'no',
          txt: 'text',
          m: { a: {} },
        });
      });
    }

    it('answers ALL_OLD for a put and a delete, and deletes what is absent without complaint', async () => {
      await table.put({ pk: 'old', sk: '1', v: 1 });
      const put = await table.put({ pk: 'old', sk: '1', v: 2 }, { ReturnValues: 'ALL_OLD' });
      expect(plain(put.Attributes)).toEqual({ pk: 'old', sk: '1', v: 1 });
      const removed = await table.delete('old', '1', { ReturnValues: 'ALL_OLD' });
      expect(plain(removed.Attributes)).toEqual({ pk: 'old', sk: '1', v: 2 });
      const again = await table.delete('old', '1', { ReturnValues: 'ALL_OLD' });
      expect(again.Attributes).toBeUndefined();
    });

    it('keeps every type, empty strings and binary included', async () => {
      const row = {
        pk: 'types',
        sk: '1',
        bytes: new Uint8Array([0, 1, 254, 255]),
        noBytes: new Uint8Array([]),
        byteSet: new Set([new Uint8Array([1]), new Uint8Array([2])]),
        empty: '',
        numbers: new Set([1, 2.5, -3]),
        nothing: null,
        yes: true,
        nested: { list: [{ deep: [null, '', 0] }], map: {} },
        text: 'zażółć \u{1F600} \u0000',
      };
      await table.put(row);
      expect(await table.get('types', '1')).toEqual(row);
    });

    const malformed: Record<string, Record<string, unknown>> = {
      'with an empty key': { pk: '', sk: 'x' },
      'without its sort key': { pk: 'x' },
      'with a number for a string key': { pk: 5, sk: 'x' },
      'with an empty index key': { pk: 'bad', sk: 'x', owner: '', at: 'x' },
      'with a wrong type for an index key': { pk: 'bad', sk: 'x', due: 'd', dueAt: 'soon' },
    };
    for (const [what, row] of Object.entries(malformed)) {
      it(`rejects an item ${what}`, async () => {
        await failure(table.put(row), INVALID);
      });
    }

    it('rejects 39 digits, and a number that is none', async () => {
      for (const N of ['123456789012345678901234567890123456789', 'abc', '1e126']) {
        const Item = { pk: { S: 'bad' }, sk: { S: 'n' }, n: { N } };
        const call = table.dynamo.send(new PutItemCommand({ TableName: table.name, Item }));
        await failure(call, INVALID);
      }
    });

    it('rejects an empty set', async () => {
      const Item = { pk: { S: 'bad' }, sk: { S: 'set' }, tags: { SS: [] } };
      await failure(
        table.dynamo.send(new PutItemCommand({ TableName: table.name, Item })),
        INVALID,
      );
    });

    it('rejects nesting below 32 levels', async () => {
      const nested = (levels: number): unknown => (levels === 0 ? 'x' : [nested(levels - 1)]);
      await table.put({ pk: 'deep', sk: '32', v: nested(31) });
      await failure(table.put({ pk: 'deep', sk: '40', v: nested(40) }), INVALID);
    });

    /** The names and keys of such an item take 2+4 + 2+1 + 1 bytes. */
    const ofSize = (sk: string, bytes: number, letter = 'x') => {
      const left = bytes - 10;
      return { pk: 'size', sk, d: letter.repeat(left / Buffer.byteLength(letter)) };
    };

    it('takes an item of 400 KB and not one byte more', async () => {
      await table.put(ofSize('1', 409_600));
      const error = await failure(table.put(ofSize('2', 409_601)), INVALID);
      expect(error.message).toBe('Item size has exceeded the maximum allowed size');
    });

    it('counts the size of text in UTF-8 bytes', async () => {
      await failure(table.put(ofSize('3', 409_610, 'ż')), INVALID);
    });

    it('rejects an update that would let an item grow past 400 KB', async () => {
      await table.put(ofSize('4', 400_000));
      const call = table.update('size', '4', 'SET e = :e', {
        values: { ':e': 'e'.repeat(10_000) },
      });
      await failure(call, INVALID);
      expect(await table.get('size', '4')).not.toHaveProperty('e');
    });

    const puts = (count: number, pk: string): WriteRequest[] =>
      Array.from({ length: count }, (_, sk) => ({
        PutRequest: { Item: wire({ pk, sk: String(sk) }) },
      }));
    const batch = (requests: WriteRequest[]) =>
      table.dynamo.send(new BatchWriteItemCommand({ RequestItems: { [table.name]: requests } }));

    it('writes 25 items in a batch, reads them in one, and deletes in one', async () => {
      const requests = puts(25, 'batch');
      expect((await batch(requests)).UnprocessedItems ?? {}).toEqual({});
      const Keys = requests.map(({ PutRequest }) => PutRequest?.Item ?? {});
      const read = () =>
        table.dynamo.send(
          new BatchGetItemCommand({
            RequestItems: { [table.name]: { Keys, ConsistentRead: true } },
          }),
        );
      expect((await read()).Responses?.[table.name]).toHaveLength(25);
      await batch(Keys.map((Key) => ({ DeleteRequest: { Key } })));
      expect((await read()).Responses?.[table.name]).toEqual([]);
    });

    it('rejects a batch of 26', async () => {
      await failure(batch(puts(26, 'many')), INVALID);
    });

    it('rejects a batch that names an item twice', async () => {
      const error = await failure(batch([...puts(1, 'twice'), ...puts(1, 'twice')]), INVALID);
      expect(error.message).toMatch(/contains duplicates/);
    });

    it('B88 loses none of 100 increments made at once', async () => {
      await table.put({ pk: 'race', sk: 'add', n: 0 });
      await Promise.all(
        Array.from({ length: 100 }, () =>
          table.update('race', 'add', 'ADD n :one', { values: { ':one': 1 } }),
        ),
      );
      expect(await table.get('race', 'add')).toMatchObject({ n: 100 });
    });

    it('B88 loses none of 100 list entries appended at once', async () => {
      await table.put({ pk: 'race', sk: 'list', notes: [] });
      await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          table.update('race', 'list', 'SET notes = list_append(notes, :i)', {
            values: { ':i': [i] },
          }),
        ),
      );
      const row = await table.get('race', 'list');
      expect(new Set(row?.notes as number[]).size).toBe(100);
    });

    it('lets exactly one of 20 compare-and-swap writers win', async () => {
      for (let version = 1; version <= 5; version += 1) {
        if (version === 1) await table.put({ pk: 'race', sk: 'cas', version });
        const outcomes = await Promise.allSettled(
          Array.from({ length: 20 }, (_, writer) =>
            table.update('race', 'cas', 'SET version = version + :one, writer = :w', {
              ConditionExpression: 'version = :v',
              values: { ':one': 1, ':v': version, ':w': writer },
            }),
          ),
        );
        const won = outcomes.filter((outcome) => outcome.status === 'fulfilled');
        expect(won).toHaveLength(1);
        expect(await table.get('race', 'cas')).toMatchObject({ version: version + 1 });
      }
    });

    it('lets exactly one of 20 creators win', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, by) =>
          table.put(
            { pk: 'race', sk: 'create', by },
            { ConditionExpression: 'attribute_not_exists(pk)' },
          ),
        ),
      );
      expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
    });

    it('counts write units: one per kilobyte and per index entry', async () => {
      const capacity = async (row: Record<string, unknown>) => {
        const answer = await table.put(row, { ReturnConsumedCapacity: 'TOTAL' });
        return answer.ConsumedCapacity?.CapacityUnits;
      };
      expect(await capacity({ pk: 'units', sk: '1' })).toBe(1);
      expect(await capacity({ pk: 'units', sk: '2', d: 'x'.repeat(2500) })).toBe(3);
      const indexed = { pk: 'units', sk: '3', owner: 'o', at: '1' };
      expect(await capacity(indexed)).toBe(2);
      // A changed index key removes one entry and puts another.
      expect(await capacity({ ...indexed, at: '2' })).toBe(3);
    });
  });
}
