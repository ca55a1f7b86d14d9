import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  ListTagsOfResourceCommand,
  TagResourceCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { failure, TestTable } from '#test/contract/aws/dynamo/fixture.ts';
import { type Embedded, NOON, startEmbedded } from './embedded.ts';

let directory: string;
let path: string;
let embedded: Embedded;
const clock = { now: NOON };

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'dynamo-'));
  path = join(directory, 'state.db');
  clock.now = NOON;
  embedded = await startEmbedded({ path, clock });
});
afterEach(async () => {
  await embedded.close();
  rmSync(directory, { recursive: true });
});

async function restarted(table: TestTable): Promise<TestTable> {
  await embedded.close();
  embedded = await startEmbedded({ path, clock });
  return Object.assign(new TestTable(embedded.url), {
    name: table.name,
    streamArn: table.streamArn,
  });
}

describe('a restarted emulator', () => {
  it('has the same items, indexes, settings and stream', async () => {
    const before = await embedded.table();
    const TableName = before.name;
    await before.put({ pk: 'a', sk: '1', owner: 'o', at: '1', until: NOON / 1000 + 5 });
    await before.dynamo.send(
      new UpdateTimeToLiveCommand({
        TableName,
        TimeToLiveSpecification: { Enabled: true, AttributeName: 'until' },
      }),
    );
    await before.dynamo.send(
      new UpdateTableCommand({ TableName, DeletionProtectionEnabled: true }),
    );
    const described = await before.dynamo.send(new DescribeTableCommand({ TableName }));
    const ResourceArn = described.Table?.TableArn ?? '';
    const Tags = [{ Key: 'stage', Value: 'local' }];
    await before.dynamo.send(new TagResourceCommand({ ResourceArn, Tags }));

    const table = await restarted(before);
    expect(await table.get('a', '1')).toMatchObject({ owner: 'o' });
    const again = await table.dynamo.send(new DescribeTableCommand({ TableName }));
    expect(again.Table).toEqual(described.Table);
    expect(again.Table).toMatchObject({ ItemCount: 1, DeletionProtectionEnabled: true });
    const ttl = await table.dynamo.send(new DescribeTimeToLiveCommand({ TableName }));
    expect(ttl.TimeToLiveDescription).toMatchObject({ AttributeName: 'until' });
    const tags = await table.dynamo.send(new ListTagsOfResourceCommand({ ResourceArn }));
    expect(tags.Tags).toEqual(Tags);
    clock.now += 6000;
    expect(await embedded.dynamo.sweepExpired()).toBe(1);
    expect(await table.get('a', '1')).toBeUndefined();
  });

  it('B98 still knows a token, for ten minutes from its transaction', async () => {
    const before = await embedded.table();
    const token = randomUUID();
    const add = (table: TestTable) =>
      table.transact([table.op.update('a', 'n', 'ADD n :n', { values: { ':n': 1 } })], token);
    await add(before);
    const table = await restarted(before);
    clock.now += 10 * 60_000 - 1;
    await add(table);
    expect(await table.get('a', 'n')).toMatchObject({ n: 1 });
    clock.now += 1;
    await add(table);
    expect(await table.get('a', 'n')).toMatchObject({ n: 2 });
  });

  it('has nothing of a write that its disk refused', async () => {
    await embedded.close();
    const state = openStateDatabase(path);
    embedded = await startEmbedded({ state, clock });
    const table = await embedded.table();
    // Stands for a full disk, at the last of the writes that make a change.
    state.exec(`CREATE TRIGGER full BEFORE INSERT ON dynamo_stream_record
      BEGIN SELECT raise(ABORT, 'database or disk is full'); END`);
    const put = () => table.put({ pk: 'a', sk: '1', owner: 'o', at: '1' });
    const reported = vi.spyOn(console, 'error').mockReturnValue();
    await failure(put(), 'InternalFailure');
    expect(await table.get('a', '1')).toBeUndefined();
    expect(reported).toHaveBeenCalled();
    state.exec('DROP TRIGGER full');
    await put();
    expect(await table.get('a', '1')).toBeDefined();
    const index = await table.query('#o = :o', {
      IndexName: 'byOwner',
      ExpressionAttributeNames: { '#o': 'owner' },
      values: { ':o': 'o' },
    });
    expect(index.rows).toHaveLength(1);
  });
});
