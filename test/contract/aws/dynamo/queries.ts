import { QueryCommand, type QueryCommandInput, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type DynamoPart, failure, plain, type Row, TestTable, wire } from './fixture.ts';

const INVALID = 'ValidationException';

/** Queries, indexes, pages and scans. */
export function queries({ it, target }: DynamoPart): void {
  describe('queries', () => {
    let table: TestTable;
    beforeAll(async () => {
      table = await new TestTable(target()).create();
      for (let page = 1; page <= 12; page += 1) {
        const sk = `LOG#${String(page).padStart(4, '0')}`;
        await table.put({ pk: 'run', sk, page, kind: page % 3 === 0 ? 'seal' : 'events' });
      }
      await table.put({ pk: 'run', sk: 'HEAD' });
      await table.put({ pk: 'other', sk: 'LOG#0001', page: 99 });
    });
    afterAll(() => table.drop());

    const pages = (rows: readonly Row[]) => rows.map((row) => row.page);
    const logs = { ':p': 'run', ':l': 'LOG#' };

    it('finds by prefix, in order, only in its partition', async () => {
      const { rows } = await table.query('pk = :p AND begins_with(sk, :l)', { values: logs });
      expect(pages(rows)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    });

    const ranges: Record<string, [string, number[]]> = {
      '=': ['sk = :a', [4]],
      '<': ['sk < :a', [1, 2, 3]],
      '<=': ['sk <= :a', [1, 2, 3, 4]],
      '>': ['sk > :b', [10, 11, 12]],
      '>=': ['sk >= :b', [9, 10, 11, 12]],
      BETWEEN: ['sk BETWEEN :a AND :b', [4, 5, 6, 7, 8, 9]],
    };
    for (const [operator, [condition, expected]] of Object.entries(ranges)) {
      it(`finds by sort key ${operator}`, async () => {
        const bounds = { ':a': 'LOG#0004', ':b': 'LOG#0009' };
        const mine = Object.entries(bounds).filter(([name]) => condition.includes(name));
        const { rows } = await table.query(`pk = :p AND ${condition}`, {
          values: { ':p': 'run', ...Object.fromEntries(mine) },
          ConsistentRead: true,
        });
        expect(pages(rows.filter((row) => row.sk !== 'HEAD'))).toEqual(expected);
      });
    }

    it('reads backwards and stops at a limit', async () => {
      const { rows, LastEvaluatedKey } = await table.query('pk = :p AND begins_with(sk, :l)', {
        values: logs,
        ScanIndexForward: false,
        Limit: 3,
        ConsistentRead: true,
      });
      expect(pages(rows)).toEqual([12, 11, 10]);
      expect(LastEvaluatedKey && plain(LastEvaluatedKey)).toEqual({ pk: 'run', sk: 'LOG#0010' });
    });

    for (const ScanIndexForward of [true, false]) {
      it(`pages through everything once, ${ScanIndexForward ? 'forwards' : 'backwards'}`, async () => {
        const seen: unknown[] = [];
        let ExclusiveStartKey: QueryCommandInput['ExclusiveStartKey'];
        do {
          const page = await table.query('pk = :p AND begins_with(sk, :l)', {
            values: logs,
            Limit: 5,
            ScanIndexForward,
            ...(ExclusiveStartKey && { ExclusiveStartKey }),
          });
          seen.push(...pages(page.rows));
          ExclusiveStartKey = page.LastEvaluatedKey;
        } while (ExclusiveStartKey);
        const all = Array.from({ length: 12 }, (_, i) => i + 1);
        expect(seen).toEqual(ScanIndexForward ? all : all.reverse());
      });
    }

    it('starts after a key that is not there', async () => {
      const { rows } = await table.query('pk = :p AND begins_with(sk, :l)', {
        values: logs,
        ExclusiveStartKey: wire({ pk: 'run', sk: 'LOG#0010x' }),
      });
      expect(pages(rows)).toEqual([11, 12]);
    });

    it('filters after the limit, and counts both', async () => {
      const answer = await table.query('pk = :p AND begins_with(sk, :l)', {
        FilterExpression: 'kind = :k',
        values: { ...logs, ':k': 'seal' },
        Limit: 7,
      });
      expect(pages(answer.rows)).toEqual([3, 6]);
      expect([answer.Count, answer.ScannedCount]).toEqual([2, 7]);
      expect(answer.LastEvaluatedKey).toBeDefined();
    });

    it('projects attributes, and answers a count alone', async () => {
      const { rows } = await table.query('pk = :p AND sk = :s', {
        ProjectionExpression: '#n',
        ExpressionAttributeNames: { '#n': 'page' },
        values: { ':p': 'run', ':s': 'LOG#0002' },
      });
      expect(rows).toEqual([{ page: 2 }]);
      const count = await table.query('pk = :p', { values: { ':p': 'run' }, Select: 'COUNT' });
      expect([count.Count, count.Items]).toEqual([13, undefined]);
    });

    it('ends a page at 1 MB', async () => {
      for (let i = 0; i < 4; i += 1) {
        await table.put({ pk: 'large', sk: String(i), d: 'x'.repeat(390_000) });
      }
      const first = await table.query('pk = :p', { values: { ':p': 'large' } });
      expect(first.rows.length).toBeLessThan(4);
      const rest = await table.query('pk = :p', {
        values: { ':p': 'large' },
        ExclusiveStartKey: first.LastEvaluatedKey,
      });
      expect([...first.rows, ...rest.rows].map((row) => row.sk)).toEqual(['0', '1', '2', '3']);
    });

    it('orders numbers of an index by value', async () => {
      const values = [-20, -3, 0, 2, 2.5, 10, 1_800_000_000];
      for (const dueAt of [...values].sort()) {
        await table.put({ pk: 'numbers', sk: String(dueAt), due: 'numbers', dueAt });
      }
      const { rows } = await table.query('due = :d', {
        IndexName: 'byDue',
        values: { ':d': 'numbers' },
      });
      expect(rows.map((row) => row.dueAt)).toEqual(values);
      const due = await table.query('due = :d AND dueAt <= :now', {
        IndexName: 'byDue',
        values: { ':d': 'numbers', ':now': 2 },
      });
      expect(due.rows.map((row) => row.dueAt)).toEqual([-20, -3, 0, 2]);
    });

    it('has in a sparse index only items with all its keys, and only what it includes', async () => {
      const base = { pk: 'sparse', state: 'queued', large: 'x' };
      await table.put({ ...base, sk: 'both', due: 'sparse', dueAt: 5 });
      await table.put({ ...base, sk: 'hash only', due: 'sparse' });
      await table.put({ ...base, sk: 'none' });
      const find = async () =>
        (await table.query('due = :d', { IndexName: 'byDue', values: { ':d': 'sparse' } })).rows;
      expect(await find()).toEqual([
        { pk: 'sparse', sk: 'both', due: 'sparse', dueAt: 5, state: 'queued' },
      ]);
      await table.update('sparse', 'both', 'REMOVE due, dueAt SET #s = :s', {
        ExpressionAttributeNames: { '#s': 'state' },
        values: { ':s': 'completed' },
      });
      expect(await find()).toEqual([]);
    });

    it('moves an entry when its index key changes, and drops it with its item', async () => {
      const find = async (owner: string) => {
        const { rows } = await table.query('#o = :o', {
          IndexName: 'byOwner',
          ExpressionAttributeNames: { '#o': 'owner' },
          values: { ':o': owner },
        });
        return rows.map((row) => row.sk);
      };
      await table.put({ pk: 'moves', sk: '1', owner: 'ann', at: '1' });
      await table.update('moves', '1', 'SET #o = :o', {
        ExpressionAttributeNames: { '#o': 'owner' },
        values: { ':o': 'bob' },
      });
      expect([await find('ann'), await find('bob')]).toEqual([[], ['1']]);
      await table.delete('moves', '1');
      expect(await find('bob')).toEqual([]);
    });

    it('keeps apart items that share an index key, and pages through them', async () => {
      for (let i = 0; i < 7; i += 1) {
        await table.put({ pk: `same${i}`, sk: 'x', owner: 'same', at: 'same' });
      }
      const seen: unknown[] = [];
      let ExclusiveStartKey: QueryCommandInput['ExclusiveStartKey'];
      do {
        const page = await table.query('#o = :o', {
          IndexName: 'byOwner',
          ExpressionAttributeNames: { '#o': 'owner' },
          values: { ':o': 'same' },
          Limit: 2,
          ...(ExclusiveStartKey && { ExclusiveStartKey }),
        });
        seen.push(...page.rows.map((row) => row.pk));
        ExclusiveStartKey = page.LastEvaluatedKey;
      } while (ExclusiveStartKey);
      expect(seen.sort()).toEqual(Array.from({ length: 7 }, (_, i) => `same${i}`));
    });

    it('answers a LastEvaluatedKey of an index with the keys of both', async () => {
      await table.put({ pk: 'key', sk: '1', owner: 'key', at: '1' });
      await table.put({ pk: 'key', sk: '2', owner: 'key', at: '2' });
      const { LastEvaluatedKey } = await table.query('#o = :o', {
        IndexName: 'byOwner',
        ExpressionAttributeNames: { '#o': 'owner' },
        values: { ':o': 'key' },
        Limit: 1,
      });
      expect(plain(LastEvaluatedKey)).toEqual({ pk: 'key', sk: '1', owner: 'key', at: '1' });
    });

    const wrong: Record<string, Partial<QueryCommandInput>> = {
      'a consistent read of a global index': {
        IndexName: 'byOwner',
        KeyConditionExpression: '#o = :p',
        ExpressionAttributeNames: { '#o': 'owner' },
        ConsistentRead: true,
      },
      'no partition key': { KeyConditionExpression: 'sk = :p' },
      'an inequality of the partition key': { KeyConditionExpression: 'pk > :p' },
      'a filter on a key': { KeyConditionExpression: 'pk = :p', FilterExpression: 'sk = :p' },
      'an index that is not there': { IndexName: 'byNothing', KeyConditionExpression: 'pk = :p' },
    };
    for (const [what, input] of Object.entries(wrong)) {
      it(`rejects a query with ${what}`, async () => {
        const query = new QueryCommand({
          TableName: table.name,
          ExpressionAttributeValues: wire({ ':p': 'x' }),
          ...input,
        });
        await failure(table.dynamo.send(query), INVALID);
      });
    }

    it('scans every item once, in segments and pages', async () => {
      const seen: string[] = [];
      for (let Segment = 0; Segment < 3; Segment += 1) {
        let ExclusiveStartKey: QueryCommandInput['ExclusiveStartKey'];
        do {
          const page = await table.dynamo.send(
            new ScanCommand({
              TableName: table.name,
              Segment,
              TotalSegments: 3,
              Limit: 3,
              ExclusiveStartKey,
              FilterExpression: 'begins_with(sk, :l)',
              ExpressionAttributeValues: wire({ ':l': 'LOG#' }),
            }),
          );
          for (const item of page.Items ?? []) seen.push(`${item.pk?.S} ${item.sk?.S}`);
          ExclusiveStartKey = page.LastEvaluatedKey;
        } while (ExclusiveStartKey);
      }
      expect(seen).toHaveLength(13);
      expect(new Set(seen).size).toBe(13);
    });
  });
}
