import { UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TestTable } from '#test/contract/aws/dynamo/fixture.ts';
import { type Embedded, NOON, startEmbedded } from './embedded.ts';

const NOON_S = NOON / 1000;
const YEAR_S = 365 * 24 * 60 * 60;

let embedded: Embedded;
let table: TestTable;
beforeEach(async () => {
  embedded = await startEmbedded();
  table = await embedded.table();
});
afterEach(() => embedded.close());

const timeToLive = (Enabled: boolean, AttributeName = 'until') =>
  table.dynamo.send(
    new UpdateTimeToLiveCommand({
      TableName: table.name,
      TimeToLiveSpecification: { Enabled, AttributeName },
    }),
  );
const left = async () => (await table.query('pk = :p', { values: { ':p': 'a' } })).rows;
const sweptAt = async (seconds: number) => {
  embedded.clock.now = seconds * 1000;
  return embedded.dynamo.sweepExpired();
};

describe('Time to Live', () => {
  it('deletes an item when its second has passed, with its index entries', async () => {
    await timeToLive(true);
    await table.put({ pk: 'a', sk: '1', until: NOON_S + 10, owner: 'o', at: '1' });
    expect(await sweptAt(NOON_S + 10)).toBe(0);
    expect(await sweptAt(NOON_S + 11)).toBe(1);
    expect(await left()).toEqual([]);
    const index = await table.query('#o = :o', {
      IndexName: 'byOwner',
      ExpressionAttributeNames: { '#o': 'owner' },
      values: { ':o': 'o' },
    });
    expect(index.rows).toEqual([]);
  });

  it('goes by what the item says last', async () => {
    await timeToLive(true);
    for (const sk of ['renewed', 'freed', 'hastened', 'replaced']) {
      await table.put({ pk: 'a', sk, until: NOON_S + 10 });
    }
    await table.update('a', 'renewed', 'SET #u = :u', {
      ExpressionAttributeNames: { '#u': 'until' },
      values: { ':u': NOON_S + 100 },
    });
    await table.update('a', 'freed', 'REMOVE #u', { ExpressionAttributeNames: { '#u': 'until' } });
    await table.transact([
      table.op.put({ pk: 'a', sk: 'hastened', until: NOON_S - 1 }),
      table.op.put({ pk: 'a', sk: 'replaced', until: 'never' }),
    ]);
    expect(await sweptAt(NOON_S)).toBe(1);
    expect(await sweptAt(NOON_S + 50)).toBe(0);
    expect((await left()).map((row) => row.sk)).toEqual(['freed', 'renewed', 'replaced']);
    expect(await sweptAt(NOON_S + 101)).toBe(1);
  });

  it('finds items older than the setting, and none after it is disabled', async () => {
    await table.put({ pk: 'a', sk: '1', until: NOON_S - 1 });
    await table.put({ pk: 'a', sk: '2', until: NOON_S + 5 });
    await table.put({ pk: 'a', sk: '3', other: NOON_S - 1 });
    expect(await sweptAt(NOON_S)).toBe(0);
    await timeToLive(true);
    expect(await sweptAt(NOON_S)).toBe(1);
    await timeToLive(false);
    await table.put({ pk: 'a', sk: '4', until: NOON_S - 1 });
    expect(await sweptAt(NOON_S + 10)).toBe(0);
    await timeToLive(true, 'other');
    expect(await sweptAt(NOON_S + 10)).toBe(1);
    expect((await left()).map((row) => row.sk)).toEqual(['2', '4']);
  });

  it('leaves alone what expired more than five years ago', async () => {
    await timeToLive(true);
    await table.put({ pk: 'a', sk: 'old', until: NOON_S - 5 * YEAR_S + 60 });
    await table.put({ pk: 'a', sk: 'ancient', until: NOON_S - 5 * YEAR_S - 60 });
    expect(await sweptAt(NOON_S)).toBe(1);
    expect((await left()).map((row) => row.sk)).toEqual(['ancient']);
  });

  it('sweeps more items than one turn takes', async () => {
    await timeToLive(true);
    for (let n = 0; n < 60; n += 1) await table.put({ pk: 'a', sk: String(n), until: NOON_S - 1 });
    expect(await sweptAt(NOON_S)).toBe(60);
    expect(await left()).toEqual([]);
  });
});
