import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dispatchRun, reconcileQuotasChore, settleRun } from '#shared/orchestrator/index.ts';
import { runLimitsSchema } from '#shared/quotas/index.ts';
import type { RunHead } from '#shared/runs/index.ts';
import { QUOTA_PARTITIONS } from '#shared/topology/index.ts';
import { type OrchestratorBench, openOrchestratorBench } from '#test/support/orchestrator-bench.ts';
import { at } from '#test/support/run-builders.ts';

let bench: OrchestratorBench;
let limits = runLimitsSchema.parse({ perTenant: 1 });
beforeEach(async () => {
  bench = await openOrchestratorBench();
  limits = runLimitsSchema.parse({ perTenant: 1 });
});
afterEach(() => bench.close());

const dispatch = (head: RunHead) => dispatchRun({ ...bench.deps, limits }, bench.message(head));
/** Ends a run as the platform does when it is cancelled before its host came. */
const end = (head: RunHead) =>
  settleRun(bench.deps, head, { kind: 'poison_message', reason: 'of this test' });
/** Handles the messages that were sent since the last time, in order. */
async function deliver(): Promise<string[]> {
  const outcomes: string[] = [];
  for (const { message } of bench.sent.splice(0)) {
    outcomes.push(await dispatchRun({ ...bench.deps, limits }, message));
  }
  return outcomes;
}
const launched = () => bench.launches.map(({ ref }) => ref.runId);
const live = async () => {
  const pages = Array.from({ length: QUOTA_PARTITIONS }, (_, partition) =>
    bench.ledger.listQuotaCounters(partition),
  );
  return (await Promise.all(pages)).flat();
};

describe('ORC-6 admission', () => {
  it('lets a run wait for its tenant, and calls it when a slot is free', async () => {
    const [first, second] = [await bench.accept(), await bench.accept({ createdAt: at(1) })];
    expect(await dispatch(first)).toBe('launched');
    expect(await dispatch(second)).toBe('waiting_for_quota');
    expect(bench.sent).toEqual([]);
    await end(first);
    expect(await deliver()).toEqual(['launched']);
    expect(launched()).toEqual([first.runId, second.runId]);
  });

  it('takes the higher priority first, then the older run, whatever order messages come in', async () => {
    const holder = await bench.accept();
    await dispatch(holder);
    const low = await bench.accept({ createdAt: at(1), priority: 'low' });
    const young = await bench.accept({ createdAt: at(3) });
    const old = await bench.accept({ createdAt: at(2) });
    const high = await bench.accept({ createdAt: at(4), priority: 'high' });
    for (const head of [low, young, old, high]) {
      expect(await dispatch(head)).toBe('waiting_for_quota');
    }
    let current: RunHead = holder;
    for (const next of [high, old, young, low]) {
      await end(current);
      await deliver();
      expect(launched().at(-1)).toBe(next.runId);
      current = next;
    }
  });

  it('does not let a newcomer overtake those who wait', async () => {
    const holder = await bench.accept();
    await dispatch(holder);
    const waiting = await bench.accept({ createdAt: at(1) });
    await dispatch(waiting);
    await end(holder);
    bench.sent.splice(0); // the call is lost
    const newcomer = await bench.accept({ createdAt: at(2) });
    expect(await dispatch(newcomer)).toBe('waiting_for_quota');
    expect(bench.sent).toEqual([]);
    // What the sweeper does when the timer of a queued run is due: also that of one behind gets the first going.
    expect(await dispatch(newcomer)).toBe('waiting_for_quota');
    expect(await deliver()).toEqual(['launched']);
    expect(launched().at(-1)).toBe(waiting.runId);
  });

  it('fills all slots that became free at once, from one call', async () => {
    limits = runLimitsSchema.parse({ perTenant: 1 });
    const holder = await bench.accept();
    await dispatch(holder);
    const waiting = [];
    for (const second of [1, 2, 3]) waiting.push(await bench.accept({ createdAt: at(second) }));
    for (const head of waiting) await dispatch(head);
    limits = runLimitsSchema.parse({ perTenant: 4 });
    await end(holder);
    while (bench.sent.length > 0) await deliver();
    expect(launched().slice(1)).toEqual(waiting.map(({ runId }) => runId));
  });

  it('passes by whoever was cancelled while it waited', async () => {
    const holder = await bench.accept();
    await dispatch(holder);
    const gone = await bench.accept({ createdAt: at(1) });
    const next = await bench.accept({ createdAt: at(2) });
    await dispatch(gone);
    await dispatch(next);
    await settleRun(bench.deps, gone, { kind: 'cancel_requested' });
    await end(holder);
    expect(await deliver()).toEqual(['nothing_to_do']);
    expect(await deliver()).toEqual(['launched']);
    expect(launched().at(-1)).toBe(next.runId);
  });

  it('gets past whoever is first and waits no more, although its call was lost', async () => {
    const holder = await bench.accept();
    await dispatch(holder);
    const gone = await bench.accept({ createdAt: at(1) });
    const next = await bench.accept({ createdAt: at(2) });
    await dispatch(gone);
    await dispatch(next);
    await settleRun(bench.deps, gone, { kind: 'cancel_requested' });
    await end(holder);
    bench.sent.splice(0);
    // What the sweeper does when the timer of the one behind is due.
    expect(await dispatch(next)).toBe('launched');
  });

  it('keeps tenants apart: one that is full does not hold up another', async () => {
    const mine = [await bench.accept(), await bench.accept({ createdAt: at(1) })];
    for (const head of mine) await dispatch(head);
    expect(await dispatch(await bench.accept({ tenantId: 'globex' }))).toBe('launched');
  });

  it('holds all tenants to the limit of the platform, and looks again', async () => {
    limits = runLimitsSchema.parse({ perTenant: 5, global: 1 });
    const first = await bench.accept();
    const other = await bench.accept({ tenantId: 'globex' });
    expect(await dispatch(first)).toBe('launched');
    expect(await dispatch(other)).toBe('waiting_for_quota');
    const waiting = await bench.ledger.readHead(other);
    expect(Date.parse(waiting?.dueAt ?? '')).toBe(
      bench.deps.clock.now() + bench.deps.timing.quotaWaitMs,
    );
    await end(first);
    expect(await dispatch(other)).toBe('launched');
  });

  it('uses every counter of a limit that is spread over several', async () => {
    limits = runLimitsSchema.parse({ perTenant: 201 });
    const runs = await Promise.all(Array.from({ length: 12 }, () => bench.accept()));
    for (const head of runs) expect(await dispatch(head)).toBe('launched');
    const counters = await live();
    expect(counters.map(({ live: count }) => count).reduce((a, b) => a + b)).toBe(12);
    expect(counters.length).toBe(2);
  });
});

describe('ORC-6 reconciliation', () => {
  const chore = () => reconcileQuotasChore({ ...bench.deps, ledger: bench.ledger });

  it('finds a slot that leaked, and gives it back at the second sight of it', async () => {
    limits = runLimitsSchema.parse({ perTenant: 2 });
    const [running, leaked] = [await bench.accept(), await bench.accept({ createdAt: at(1) })];
    await dispatch(running);
    await dispatch(leaked);
    await bench.table.update(
      { pk: `RUN#${leaked.tenantId}#${leaked.runId}`, sk: 'HEAD' },
      { remove: ['quota', 'duePk', 'dueAt'], set: { status: 'failed' } },
    );
    const { run } = chore();
    await run(Number.MAX_SAFE_INTEGER);
    expect((await live()).map((counter) => counter.live)).toEqual([2]);
    await run(Number.MAX_SAFE_INTEGER);
    expect((await live()).map((counter) => counter.live)).toEqual([1]);
  });

  it('leaves counters alone that are right, or that move', async () => {
    const head = await bench.accept();
    await dispatch(head);
    const { run } = chore();
    for (let round = 0; round < 3; round += 1) await run(Number.MAX_SAFE_INTEGER);
    expect((await live()).map(({ live: count, moves }) => [count, moves])).toEqual([[1, 1]]);
    await end(head);
    for (let round = 0; round < 3; round += 1) await run(Number.MAX_SAFE_INTEGER);
    expect((await live()).map(({ live: count, moves }) => [count, moves])).toEqual([[0, 2]]);
  });
});
