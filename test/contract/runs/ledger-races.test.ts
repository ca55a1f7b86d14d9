import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDynamoRunLedger } from '#shared/runs/dynamo-run-ledger.ts';
import { LOG_BEGINNING, type RunHead, type RunLedger, readEvents } from '#shared/runs/index.ts';
import { openEmbeddedTable } from '#test/support/embedded-table.ts';
import { runsOf } from '#test/support/ledger-runs.ts';
import { at, claimOf } from '#test/support/run-builders.ts';

let embedded: Awaited<ReturnType<typeof openEmbeddedTable>>;
let ledger: RunLedger;
let runs: ReturnType<typeof runsOf>;

beforeAll(async () => {
  embedded = await openEmbeddedTable();
  ledger = openDynamoRunLedger(embedded.table);
  runs = runsOf(ledger);
});
afterAll(() => embedded.close());

const eventTypes = async (head: RunHead) => {
  const { events } = await readEvents(ledger, head, LOG_BEGINNING, 100);
  return events.map(({ event }) => event.eventType);
};
const live = async (tenantId: string) =>
  (await runs.counters(tenantId)).reduce((sum, counter) => sum + counter.live, 0);

it('B101 makes one ending and one release out of six', async () => {
  const tenantId = 'b101';
  const head = await runs.in('running', { tenantId });
  for (let time = 0; time < 6; time += 1) await runs.finish(head, 'failed');
  expect(await eventTypes(head)).toEqual(['run.queued', 'run.failed']);
  expect(await runs.counters(tenantId)).toMatchObject([{ live: 0, moves: 2 }]);
});

it('B104 refuses everything of an attempt that was replaced, and leaves the new one alone', async () => {
  const stale = await runs.in('running', { tenantId: 'b104', repeatable: true });
  const place = await ledger.logEnd(stale);
  const requeued = await runs.requeue(stale);
  if (requeued.outcome !== 'applied') throw new Error(requeued.outcome);
  await ledger.claimForLaunch(claimOf(requeued.head));
  const before = await ledger.readHead(stale);
  expect((await ledger.renewLease(stale, 1, at(100))).outcome).toBe('refused');
  expect(await runs.append(stale, 1, ['x'], place)).toEqual({ outcome: 'fenced', by: 'seal' });
  expect((await runs.finish(stale)).outcome).toBe('changed');
  expect((await runs.host(stale)).outcome).toBe('refused');
  expect(await ledger.readHead(stale)).toEqual(before);
});

it('B106 starts nothing after the end, and ends nothing before its start', async () => {
  const head = await runs.in('running', { tenantId: 'b106' });
  // The clock of whoever ends it is behind.
  const ended = await runs.finish(head, 'failed', at(-60));
  if (ended.outcome !== 'applied') throw new Error(ended.outcome);
  expect(ended.head.endedAt).toBe(ended.head.startedAt);
  expect((await runs.host(head)).outcome).toBe('refused');
  expect(await ledger.readHead(head)).toEqual(ended.head);
});

it('B107 refuses heartbeat, events and result after a timeout', async () => {
  const head = await runs.in('running', { tenantId: 'b107' });
  const place = await ledger.logEnd(head);
  await runs.finish(head, 'timed_out');
  const before = await ledger.readHead(head);
  expect((await ledger.renewLease(head, 1, at(100))).outcome).toBe('refused');
  expect(await runs.append(head, 1, ['x'], place)).toEqual({ outcome: 'fenced', by: 'final' });
  expect((await runs.finish(head)).outcome).toBe('changed');
  expect(await ledger.readHead(head)).toEqual(before);
});

it('B110 tells of the ending that was committed, and of no other', async () => {
  const head = await runs.in('running', { tenantId: 'b110' });
  const cancelling = await runs.cancel(head);
  if (cancelling.outcome !== 'applied') throw new Error(cancelling.outcome);
  expect((await runs.finish(head)).outcome).toBe('changed');
  await runs.finish(cancelling.head, 'cancelled');
  expect(await eventTypes(head)).not.toContain('run.completed');
  expect(await ledger.readHead(head)).toMatchObject({ status: 'cancelled' });
});

it('B112 reads a finished run as often as one likes and writes nothing', async () => {
  const head = await runs.in('running', { tenantId: 'b112' });
  await runs.finish(head);
  const written: string[] = [];
  embedded.client.middlewareStack.add(
    (next, context) => (args) => {
      if (!/^(Get|BatchGet|Query)/.test(context.commandName ?? '')) written.push('write');
      return next(args);
    },
    { step: 'initialize', name: 'watch' },
  );
  const first = await ledger.readPages(head, 0, 100);
  for (let time = 0; time < 3; time += 1) {
    expect(await eventTypes(head)).toEqual(['run.queued', 'run.completed']);
    await ledger.readAttempts(head);
    await ledger.listRuns('b112', { limit: 10 });
    await ledger.liveRuns('b112', { limit: 10 });
    expect(await ledger.readPages(head, 0, 100)).toEqual(first);
  }
  embedded.client.middlewareStack.remove('watch');
  expect(written).toEqual([]);
});

it('B113 releases a slot once, however the run is ended again, and keeps the limit', async () => {
  const tenantId = 'b113';
  const head = await runs.in('running', { tenantId });
  await runs.finish(head);
  await runs.finish(head);
  await runs.cancel(head);
  await runs.requeue(head);
  expect(await live(tenantId)).toBe(0);
  const outcomes = [];
  for (let n = 0; n < 4; n += 1) {
    const next = await runs.in('queued', { tenantId });
    outcomes.push((await ledger.claimForLaunch(claimOf(next, 2))).outcome);
  }
  expect(outcomes).toEqual(['claimed', 'claimed', 'quota_exceeded', 'quota_exceeded']);
  expect(await live(tenantId)).toBe(2);
});
