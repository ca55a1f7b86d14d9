import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type QueryCommandInput, ScanCommand } from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type _Record as StreamRecord,
} from '@aws-sdk/client-dynamodb-streams';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { plain, type Row, TestTable } from '#test/contract/aws/dynamo/fixture.ts';
import { startEmbedded } from './embedded.ts';
import { type Served, serve } from './served.ts';

let directory: string;
let path: string;
let served: Served | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'dynamo-kill-'));
  path = join(directory, 'state.db');
});
afterEach(async () => {
  await served?.kill();
  rmSync(directory, { recursive: true });
});

/** The same table seen through another process, or this one. */
function through(table: TestTable, { url }: { readonly url: string }): TestTable {
  return Object.assign(new TestTable(url), { name: table.name, streamArn: table.streamArn });
}

async function items(table: TestTable): Promise<Map<string, Row>> {
  const found = new Map<string, Row>();
  let ExclusiveStartKey: QueryCommandInput['ExclusiveStartKey'];
  do {
    const page = await table.dynamo.send(
      new ScanCommand({ TableName: table.name, ExclusiveStartKey }),
    );
    for (const item of page.Items ?? []) {
      const row = plain(item) ?? {};
      found.set(`${row.pk} ${row.sk}`, row);
    }
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey);
  return found;
}

async function indexed(table: TestTable, owner: string): Promise<Row[]> {
  const found: Row[] = [];
  let ExclusiveStartKey: QueryCommandInput['ExclusiveStartKey'];
  do {
    const page = await table.query('#o = :o', {
      IndexName: 'byOwner',
      ExpressionAttributeNames: { '#o': 'owner' },
      values: { ':o': owner },
      ...(ExclusiveStartKey && { ExclusiveStartKey }),
    });
    found.push(...page.rows);
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey);
  return found;
}

async function records(table: TestTable): Promise<StreamRecord[]> {
  const { streams, streamArn: StreamArn } = table;
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }));
  let { ShardIterator } = await streams.send(
    new GetShardIteratorCommand({
      StreamArn,
      ShardId: StreamDescription?.Shards?.[0]?.ShardId,
      ShardIteratorType: 'TRIM_HORIZON',
    }),
  );
  const found: StreamRecord[] = [];
  for (;;) {
    const page = await streams.send(new GetRecordsCommand({ ShardIterator }));
    if (!page.Records?.length) return found;
    found.push(...page.Records);
    ShardIterator = page.NextShardIterator;
  }
}

/** What the table holds if its stream is told from the start. */
function folded(stream: readonly StreamRecord[]): Map<string, Row> {
  const told = new Map<string, Row>();
  for (const { dynamodb, eventName } of stream) {
    const keys = plain(dynamodb?.Keys);
    const id = `${keys?.pk} ${keys?.sk}`;
    expect(told.get(id), `before ${eventName} of ${id}`).toEqual(plain(dynamodb?.OldImage));
    const image = plain(dynamodb?.NewImage);
    if (image) told.set(id, image);
    else told.delete(id);
  }
  return told;
}

describe('an emulator that is killed', () => {
  it('has done all of a transaction or nothing, after whichever statement it died', async () => {
    served = await serve(path);
    const table = await new TestTable(served.url).create();
    await table.put({ pk: 'tx', sk: 'moved', owner: 'old', at: '1' });
    await table.put({ pk: 'tx', sk: 'gone', owner: 'old', at: '2' });
    await served.kill();
    const transaction = (view: TestTable) => [
      view.op.put({ pk: 'tx', sk: 'new', owner: 'new', at: '0' }),
      view.op.update('tx', 'moved', 'SET #o = :o ADD n :n', {
        ExpressionAttributeNames: { '#o': 'owner' },
        values: { ':o': 'new', ':n': 1 },
      }),
      view.op.delete('tx', 'gone'),
    ];
    const token = randomUUID();
    let done = false;
    let rounds = 0;
    // The last round dies after COMMIT: everything is done and nobody was told.
    while (!done) {
      rounds += 1;
      const mortal = await serve(path, rounds);
      const doomed = through(table, mortal);
      await expect(doomed.transact(transaction(doomed), token)).rejects.toThrow();
      expect(await mortal.ended).toBe('SIGKILL');
      const embedded = await startEmbedded({ path, now: Date.now });
      const view = through(table, embedded);
      const found = await items(view);
      const stream = await records(view);
      expect(folded(stream)).toEqual(found);
      const owners = await Promise.all([indexed(view, 'old'), indexed(view, 'new')]);
      done = found.has('tx new');
      expect(stream).toHaveLength(done ? 2 + 3 : 2);
      expect([...found.keys()].sort()).toEqual(
        done ? ['tx moved', 'tx new'] : ['tx gone', 'tx moved'],
      );
      expect(owners.map((rows) => rows.map((row) => row.sk))).toEqual(
        done ? [[], ['new', 'moved']] : [['moved', 'gone'], []],
      );
      if (done) {
        // The client that was not told asks again, and nothing is done twice.
        await view.transact(transaction(view), token);
        expect(await view.get('tx', 'moved')).toMatchObject({ n: 1 });
      }
      await embedded.close();
    }
    // BEGIN, 3 items, 4 index entries (one moved: removed and put), 3 stream records, token, COMMIT.
    expect(rounds).toBe(13);
  }, 120_000);

  it('keeps what it acknowledged and no half of what it did not, while many write', async () => {
    served = await serve(path);
    const table = await new TestTable(served.url).create();
    const acknowledged = new Set<string>();
    let issued = 0;
    const round = async (killAfter: number, current: Served) => {
      const view = through(table, current);
      let acks = 0;
      const writer = async () => {
        for (;;) {
          const id = `${++issued}`;
          const at = String(issued % 7);
          const work = view.transact([
            view.op.put({ pk: 'log', sk: id, owner: 'log', at }),
            view.op.update('sum', 'n', 'ADD n :one', { values: { ':one': 1 } }),
            view.op.update('sum', `last${issued % 3}`, 'SET #o = :o, #at = :a, was = :i', {
              ExpressionAttributeNames: { '#o': 'owner', '#at': 'at' },
              values: { ':o': `last${issued % 5}`, ':a': at, ':i': id },
            }),
          ]);
          const refusal = await work.then(
            () => undefined,
            (error: Error) => error.name,
          );
          // The writes themselves are all good: only the death of the emulator ends a writer.
          if (refusal) return refusal;
          acknowledged.add(id);
          acks += 1;
          if (acks === killAfter) void current.kill();
        }
      };
      const refusals = await Promise.all(Array.from({ length: 8 }, writer));
      expect(refusals).not.toContain('ValidationException');
      expect(await current.ended).toBe('SIGKILL');
    };
    for (const killAfter of [1, 13, 34, 55, 89]) {
      await round(killAfter, served);
      served = await serve(path);
      const view = through(table, served);
      const found = await items(view);
      const logs = [...found.values()].filter((row) => row.pk === 'log');
      const ids = new Set(logs.map((row) => String(row.sk)));
      for (const id of acknowledged) expect(ids, `acknowledged ${id}`).toContain(id);
      expect(found.get('sum n')).toMatchObject({ n: ids.size });
      const stream = await records(view);
      expect(folded(stream)).toEqual(found);
      expect(stream).toHaveLength(3 * ids.size);
      const entries = await indexed(view, 'log');
      expect(new Set(entries.map((row) => row.sk))).toEqual(ids);
      expect(entries).toHaveLength(ids.size);
      const lasts = await Promise.all([0, 1, 2, 3, 4].map((n) => indexed(view, `last${n}`)));
      const moved = [...found.values()].filter((row) => String(row.sk).startsWith('last'));
      expect(new Set(lasts.flat())).toEqual(new Set(moved));
    }
    expect(acknowledged.size).toBeGreaterThanOrEqual(1 + 13 + 34 + 55 + 89);
  }, 120_000);
});
