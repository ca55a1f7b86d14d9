import { randomUUID } from 'node:crypto';
import {
  type TransactGetItem,
  TransactGetItemsCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import {
  type DynamoPart,
  failure,
  plain,
  type Row,
  type SdkError,
  TestTable,
  wire,
} from './fixture.ts';

const CANCELLED = 'TransactionCanceledException';
const INVALID = 'ValidationException';

/** Transactions: all or nothing, reasons in order, tokens. */
export function transactions({ it, target }: DynamoPart): void {
  describe('transactions', () => {
    let table: TestTable;
    beforeAll(async () => {
      table = await new TestTable(target()).create();
    });
    afterAll(() => table.drop());

    const codes = (error: SdkError) =>
      error.CancellationReasons?.map((reason: { Code?: string }) => reason.Code);
    const absent = { ConditionExpression: 'attribute_not_exists(pk)' };

    it('commits a put, an update, a delete and a condition check together', async () => {
      await table.put({ pk: 'ok', sk: 'gone' });
      await table.put({ pk: 'ok', sk: 'checked', v: 1 });
      const { op } = table;
      await table.transact([
        op.put({ pk: 'ok', sk: 'put', v: 1 }, absent),
        op.update('ok', 'updated', 'ADD n :n', { values: { ':n': 2 } }),
        op.delete('ok', 'gone'),
        op.check('ok', 'checked', 'v = :v', { values: { ':v': 1 } }),
      ]);
      expect(await table.get('ok', 'put')).toMatchObject({ v: 1 });
      expect(await table.get('ok', 'updated')).toMatchObject({ n: 2 });
      expect(await table.get('ok', 'gone')).toBeUndefined();
      expect(await table.get('ok', 'checked')).toMatchObject({ v: 1 });
    });

    it('B85 B86 applies nothing when one condition fails, with a reason per operation in order', async () => {
      await table.put({ pk: 'no', sk: 'taken', v: 1 });
      await table.put({ pk: 'no', sk: 'kept' });
      const { op } = table;
      const call = table.transact([
        op.put({ pk: 'no', sk: 'a' }),
        op.put({ pk: 'no', sk: 'taken', v: 2 }, absent),
        op.update('no', 'b', 'ADD n :n', { values: { ':n': 1 } }),
        op.delete('no', 'kept'),
        op.check('no', 'missing', 'attribute_exists(pk)'),
      ]);
      const error = await failure(call, CANCELLED);
      const failed = 'ConditionalCheckFailed';
      expect(codes(error)).toEqual(['None', failed, 'None', 'None', failed]);
      expect(error.CancellationReasons[1].Message).toBe('The conditional request failed');
      expect(error.CancellationReasons[1].Item).toBeUndefined();
      expect(error.message).toBe(
        `Transaction cancelled, please refer cancellation reasons for specific reasons [None, ${failed}, None, None, ${failed}]`,
      );
      const { rows } = await table.query('pk = :p', { values: { ':p': 'no' } });
      expect(rows).toEqual([
        { pk: 'no', sk: 'kept' },
        { pk: 'no', sk: 'taken', v: 1 },
      ]);
      const index = await table.query('#o = :o', {
        IndexName: 'byOwner',
        ExpressionAttributeNames: { '#o': 'owner' },
        values: { ':o': 'no' },
      });
      expect(index.rows).toEqual([]);
    });

    it('answers in its reason the item that failed, when ALL_OLD is asked, for every kind', async () => {
      await table.put({ pk: 'why', sk: '1', state: 'completed' });
      const { op } = table;
      const asked = { ...absent, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const };
      const running = {
        ...asked,
        ConditionExpression: '#s = :s',
        ExpressionAttributeNames: { '#s': 'state' },
        values: { ':s': 'running' },
      };
      const kinds = [
        op.put({ pk: 'why', sk: '1' }, asked),
        op.update('why', '1', 'SET x = :s', running),
        op.delete('why', '1', running),
        op.check('why', '1', running.ConditionExpression, running),
      ];
      for (const kind of kinds) {
        const error = await failure(
          table.transact([op.put({ pk: 'why', sk: '2' }), kind]),
          CANCELLED,
        );
        expect(plain(error.CancellationReasons[1].Item)).toEqual({
          pk: 'why',
          sk: '1',
          state: 'completed',
        });
      }
    });

    it('cancels with ValidationError when an operand does not fit the item', async () => {
      await table.put({ pk: 'bad', sk: 'text', n: 'text' });
      const call = table.transact([
        table.op.put({ pk: 'bad', sk: 'other' }),
        table.op.update('bad', 'text', 'ADD n :n', { values: { ':n': 1 } }),
      ]);
      expect(codes(await failure(call, CANCELLED))).toEqual(['None', 'ValidationError']);
      expect(await table.get('bad', 'other')).toBeUndefined();
    });

    it('B98 applies a transaction once however often its token is sent', async () => {
      const token = randomUUID();
      const add = [table.op.update('token', 'n', 'ADD n :n', { values: { ':n': 1 } })];
      await table.transact(add, token);
      await table.transact(add, token);
      expect(await table.get('token', 'n')).toMatchObject({ n: 1 });
    });

    it('rejects a token that stands for another transaction', async () => {
      const token = randomUUID();
      const add = (n: number) => [
        table.op.update('token', 'other', 'ADD n :n', { values: { ':n': n } }),
      ];
      await table.transact(add(1), token);
      await failure(table.transact(add(2), token), 'IdempotentParameterMismatchException');
      expect(await table.get('token', 'other')).toMatchObject({ n: 1 });
    });

    it('does not remember the token of a cancelled transaction', async () => {
      const token = randomUUID();
      const put = [table.op.put({ pk: 'token', sk: 'late' }, absent)];
      await table.put({ pk: 'token', sk: 'late' });
      await failure(table.transact(put, token), CANCELLED);
      await table.delete('token', 'late');
      await table.transact(put, token);
      expect(await table.get('token', 'late')).toBeDefined();
    });

    it('rejects two operations on one item', async () => {
      const { op } = table;
      const call = table.transact([
        op.put({ pk: 'twice', sk: '1' }),
        op.check('twice', '1', 'attribute_not_exists(pk)'),
      ]);
      expect((await failure(call, INVALID)).message).toMatch(/multiple operations on one item/);
      expect(await table.get('twice', '1')).toBeUndefined();
    });

    it('takes 100 operations and not 101', async () => {
      const puts = (count: number) =>
        Array.from({ length: count }, (_, i) => table.op.put({ pk: `many${count}`, sk: `${i}` }));
      await table.transact(puts(100));
      await failure(table.transact(puts(101)), INVALID);
      const { Count } = await table.query('pk = :p', {
        values: { ':p': 'many101' },
        Select: 'COUNT',
      });
      expect(Count).toBe(0);
    });

    it('rejects more than 4 MB', async () => {
      const puts = Array.from({ length: 11 }, (_, i) =>
        table.op.put({ pk: 'large', sk: `${i}`, d: 'x'.repeat(400_000) }),
      );
      await failure(table.transact(puts), INVALID);
      expect(await table.get('large', '0')).toBeUndefined();
    });

    it('rejects a malformed operation before it applies any', async () => {
      const { op } = table;
      const bad = op.update('malformed', '2', 'SET status = :s', { values: { ':s': 1 } });
      await failure(table.transact([op.put({ pk: 'malformed', sk: '1' }), bad]), INVALID);
      expect(await table.get('malformed', '1')).toBeUndefined();
    });

    it('names the table that does not exist', async () => {
      const put = { Put: { TableName: 'no-such-table', Item: wire({ pk: 'x' }) } };
      await failure(table.transact([put]), 'ResourceNotFoundException');
    });

    it('keeps a sum over 50 transfers made at once, and every log entry with its transfer', async () => {
      const accounts = ['0', '1', '2', '3'];
      for (const sk of accounts) await table.put({ pk: 'bank', sk, balance: 10 });
      const transfer = (i: number) => {
        const { op } = table;
        const from = String(i % 4);
        const to = String((i + 1 + (i % 3)) % 4);
        const amount = { values: { ':x': 3 } };
        const enough = { ...amount, ConditionExpression: 'balance >= :x' };
        return table.transact([
          op.update('bank', from, 'SET balance = balance - :x', enough),
          op.update('bank', to, 'SET balance = balance + :x', amount),
          op.put({ pk: 'bank-log', sk: String(i) }),
        ]);
      };
      const outcomes = await Promise.allSettled(Array.from({ length: 50 }, (_, i) => transfer(i)));
      const rows = await Promise.all(accounts.map((sk) => table.get('bank', sk)));
      const balances = rows.map((row) => Number(row?.balance));
      expect(balances.reduce((sum, balance) => sum + balance, 0)).toBe(40);
      expect(Math.min(...balances)).toBeGreaterThanOrEqual(0);
      const { Count } = await table.query('pk = :p', { values: { ':p': 'bank-log' } });
      expect(Count).toBe(outcomes.filter((outcome) => outcome.status === 'fulfilled').length);
    });

    it('counts twice the write units', async () => {
      const answer = await table.dynamo.send(
        new TransactWriteItemsCommand({
          TransactItems: [
            table.op.put({ pk: 'units', sk: '1' }),
            table.op.put({ pk: 'units', sk: '2', d: 'x'.repeat(1500) }),
          ],
          ReturnConsumedCapacity: 'TOTAL',
        }),
      );
      expect(answer.ConsumedCapacity?.map((table) => table.CapacityUnits)).toEqual([6]);
    });

    const reads = (...keys: Row[]): TransactGetItem[] =>
      keys.map((key) => ({ Get: { TableName: table.name, Key: wire(key) } }));
    const transactGet = (TransactItems: TransactGetItem[]) =>
      table.dynamo.send(new TransactGetItemsCommand({ TransactItems }));

    it('gets several items at one instant, in order, with an empty answer for a missing one', async () => {
      await table.put({ pk: 'get', sk: '1', v: 1 });
      await table.put({ pk: 'get', sk: '3', v: 3 });
      const keys = ['1', '2', '3'].map((sk) => ({ pk: 'get', sk }));
      const { Responses } = await transactGet(reads(...keys));
      expect(Responses?.map(({ Item }) => plain(Item)?.v)).toEqual([1, undefined, 3]);
    });

    it('rejects an empty get', async () => {
      await failure(transactGet([]), INVALID);
    });

    it('rejects a get that names an item twice', async () => {
      await failure(transactGet(reads({ pk: 'g', sk: '1' }, { pk: 'g', sk: '1' })), INVALID);
    });

    it('never shows a get one half of a transaction', async () => {
      const pair = (n: number) =>
        ['left', 'right'].map((sk) => table.op.put({ pk: 'pair', sk, n }));
      await table.transact(pair(0));
      const keys = reads({ pk: 'pair', sk: 'left' }, { pk: 'pair', sk: 'right' });
      const writes = Array.from({ length: 20 }, (_, n) => table.transact(pair(n + 1)));
      const seen = await Promise.all(Array.from({ length: 20 }, () => transactGet(keys)));
      await Promise.all(writes);
      for (const { Responses } of seen) {
        const [left, right] = Responses ?? [];
        expect(left?.Item?.n).toEqual(right?.Item?.n);
      }
    });
  });
}
