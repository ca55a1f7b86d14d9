import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Chore,
  dispatchRun,
  orphanTasksChore,
  settleRun,
  settleStoppedTask,
} from '#shared/orchestrator/index.ts';
import type { RunHead } from '#shared/runs/index.ts';
import { type OrchestratorBench, openOrchestratorBench } from '#test/support/orchestrator-bench.ts';

let bench: OrchestratorBench;
let chore: Chore;
beforeEach(async () => {
  bench = await openOrchestratorBench();
  chore = orphanTasksChore(bench.deps);
});
afterEach(() => bench.close());

const taskOf = ({ runId }: RunHead, epoch = 1) => `arn:task/${runId}/${epoch}`;
const run = () => chore.run(Number.POSITIVE_INFINITY);

async function launched(fields: Partial<RunHead> = {}) {
  const head = await bench.accept(fields);
  await dispatchRun(bench.deps, bench.message(head));
  return head;
}

/** The attempt is over, but its task runs on: the control plane was wrong, or its event about another task. */
const loseAttempt = (head: RunHead) =>
  settleStoppedTask(bench.deps, {
    detail: {
      taskArn: taskOf(head),
      lastStatus: 'STOPPED',
      startedBy: `${head.runId}/1/${head.tenantId}`,
      containers: [],
    },
  });

describe('HST-5 a running task', () => {
  it('of a live run is left alone', async () => {
    const head = await launched();
    bench.passMs(10 * 60_000);
    expect(await run()).toBe('done');
    expect(bench.stops).toEqual([]);
    expect(await bench.ledger.readHead(head)).toMatchObject({ status: 'starting' });
  });

  it('of a run that has ended is stopped after a grace in which its host puts things away', async () => {
    const head = await launched();
    await settleRun(bench.deps, head, { kind: 'deadline_passed', task: 'unknown' });
    await run();
    expect(bench.stops).toEqual([]);
    bench.passMs(bench.deps.timing.orphanGraceMs);
    await run();
    expect(bench.stops).toEqual([taskOf(head)]);
  });

  it('B79 of an attempt that is over is stopped, before and after the next one is launched', async () => {
    const head = await launched();
    await loseAttempt(head);
    await run();
    // It does not care.
    expect(bench.stops.splice(0)).toEqual([taskOf(head)]);
    await dispatchRun(bench.deps, bench.message(head));
    await run();
    expect(bench.stops).toEqual([taskOf(head)]);
    expect(bench.states.get(taskOf(head, 2))).toBe('running');
  });

  it('of a run that does not exist is stopped once it is old enough for clocks to differ', async () => {
    bench.states.set('arn:task/nobody', 'running');
    bench.attempts.set('arn:task/nobody', {
      attempt: { tenantId: 'acme', runId: 'run_01J00000000000000000000000', epoch: 1 },
      atMs: bench.deps.clock.now(),
    });
    await run();
    expect(bench.stops).toEqual([]);
    bench.passMs(bench.deps.timing.orphanGraceMs);
    await run();
    expect(bench.stops).toEqual(['arn:task/nobody']);
  });

  it('that is not ours, or of an attempt that the ledger does not have yet, is left alone', async () => {
    const head = await launched();
    bench.states.set('arn:task/foreign', 'running');
    bench.states.set(taskOf(head, 9), 'running');
    const { tenantId, runId } = head;
    bench.attempts.set(taskOf(head, 9), { attempt: { tenantId, runId, epoch: 9 }, atMs: 0 });
    bench.passMs(10 * 60_000);
    await run();
    expect(bench.stops).toEqual([]);
  });

  it('that cannot be stopped or judged hides no other', async () => {
    const heads = [await launched(), await launched(), await launched()];
    for (const head of heads) await loseAttempt(head);
    const { stop } = bench.deps.launcher;
    bench.deps.launcher.stop = async (taskArn, why) => {
      if (taskArn === taskOf(heads[0] as RunHead)) throw new Error('down');
      return stop(taskArn, why);
    };
    await bench.damage(heads[1] as RunHead);
    expect(await run()).toBe('done');
    expect(bench.stops).toEqual([taskOf(heads[2] as RunHead)]);
  });
});

describe('the list of tasks', () => {
  /** Pages of one task each, as the control plane would answer them. */
  function page(names: readonly string[]): (string | undefined)[] {
    const asked: (string | undefined)[] = [];
    bench.deps.launcher.listLive = async (cursor) => {
      asked.push(cursor);
      const index = Number(cursor ?? 0);
      const next = index + 1 < names.length ? { cursor: String(index + 1) } : {};
      return { tasks: [{ taskArn: String(names[index]), state: 'running' }], ...next };
    };
    return asked;
  }
  const names = Array.from({ length: 12 }, (_, index) => `arn:${index}`);

  it('is gone through in portions that go on where the last one stopped', async () => {
    const asked = page(names);
    expect([await run(), await run(), await run()]).toEqual(['more', 'more', 'done']);
    expect(asked).toEqual([undefined, ...names.slice(1).map((_, index) => String(index + 1))]);
    expect(await run()).toBe('more');
    expect(asked[12]).toBeUndefined();
  });

  it('begins no page after its time', async () => {
    const asked = page(names);
    expect(await chore.run(bench.deps.clock.now())).toBe('more');
    expect(asked).toEqual([]);
    expect(await run()).toBe('more');
    expect(asked[0]).toBeUndefined();
  });

  it('is begun again when its place has become invalid', async () => {
    const asked = page(names);
    await run();
    const { listLive } = bench.deps.launcher;
    bench.deps.launcher.listLive = async () => {
      throw new Error('invalid token');
    };
    await expect(run()).rejects.toThrow('invalid token');
    bench.deps.launcher.listLive = listLive;
    await run();
    expect(asked[5]).toBeUndefined();
  });
});
