import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  dispatchRun,
  newSweepMemory,
  type SweepMemory,
  settleRun,
  sweepDueRuns,
} from '#shared/orchestrator/index.ts';
import type { RunHead } from '#shared/runs/index.ts';
import { type OrchestratorBench, openOrchestratorBench } from '#test/support/orchestrator-bench.ts';
import { at } from '#test/support/run-builders.ts';

let bench: OrchestratorBench;
let memory: SweepMemory;
beforeEach(async () => {
  bench = await openOrchestratorBench();
  memory = newSweepMemory();
});
afterEach(() => bench.close());

const BOUNDS = { runs: 10, page: 10, pages: 5 };
const sweep = () => sweepDueRuns(bench.deps, memory, BOUNDS);
const tick = async () => {
  bench.passMs(bench.deps.timing.sweepEveryMs);
  return sweep();
};
const sentRuns = () => bench.sent.map(({ message }) => message.runId);
const idsOf = (heads: readonly RunHead[]) => heads.map(({ runId }) => runId).toSorted();

/** Runs that all fall into one shard of the due index, the hardest case for its bound. */
async function acceptInOneShard(count: number, fields: Partial<RunHead> = {}): Promise<RunHead[]> {
  const heads: RunHead[] = [];
  while (heads.length < count) {
    const head = await bench.acceptInShard(0, fields);
    heads.push(head);
  }
  return heads;
}

/** Makes every write of the message of a run fail. */
function failToSend(broken: ReadonlySet<string>): void {
  const { send } = bench.deps.queue;
  bench.deps.queue.send = async (message, options) => {
    if (broken.has(message.runId)) throw new Error('this one never works');
    return send(message, options);
  };
}

describe('a shard with more due runs than a tick takes', () => {
  it('ORC-5 is worked off over several ticks, each of bounded size', async () => {
    const heads = await acceptInOneShard(25);
    bench.passMs(61_000);
    const looked: number[] = [];
    while (sentRuns().length < heads.length) looked.push((await sweep()).looked);
    expect(looked).toEqual([10, 10, 5]);
    expect(sentRuns().toSorted()).toEqual(idsOf(heads));
  });

  it('is worked off by sweepers that remember nothing, too: what is left stays due', async () => {
    const heads = await acceptInOneShard(12);
    bench.passMs(61_000);
    for (let round = 0; round < 2; round += 1)
      await sweepDueRuns(bench.deps, newSweepMemory(), BOUNDS);
    expect(sentRuns().toSorted()).toEqual(idsOf(heads));
  });
});

describe('a tick that takes long', () => {
  it('begins no further page after its time; the next one goes on', async () => {
    const heads = await acceptInOneShard(25);
    const { send } = bench.deps.queue;
    bench.deps.queue.send = async (message, options) => {
      bench.passMs(1_000);
      return send(message, options);
    };
    bench.passMs(61_000);
    const bounds = { ...BOUNDS, runs: 100 };
    const looked: number[] = [];
    while (sentRuns().length < heads.length) {
      looked.push((await sweepDueRuns(bench.deps, memory, bounds)).looked);
    }
    expect(looked).toEqual([20, 5]);
  });
});

describe('a run that waits long', () => {
  it('gets its message again at growing distances, up to a limit', async () => {
    const head = await bench.accept({ deadlineAt: at(4 * 3_600) });
    const { timing, clock } = bench.deps;
    const sentAt: number[] = [clock.now()];
    while (sentAt.length < 8) {
      await tick();
      if (bench.sent.splice(0).length > 0) sentAt.push(clock.now());
    }
    const gaps = sentAt.slice(1).map((time, index) => time - (sentAt[index] ?? 0));
    expect(gaps[0]).toBe(timing.queuedCheckMs);
    expect(gaps).toEqual(gaps.toSorted((a, b) => a - b));
    expect(gaps.at(-1)).toBeGreaterThanOrEqual(timing.queuedCheckMaxMs);
    expect(gaps.at(-1)).toBeLessThan(timing.queuedCheckMaxMs + timing.sweepEveryMs);
    expect(await bench.ledger.readHead(head)).toMatchObject({ status: 'queued' });
  });
});

describe('runs that always fail', () => {
  it('take no place from the others, however many they are', async () => {
    const broken = await acceptInOneShard(12);
    failToSend(new Set(idsOf(broken)));
    // Due after all of them.
    const healthy = await acceptInOneShard(5, {
      dueAt: broken[0]?.dueAt?.replace('.000Z', '.500Z'),
    });
    bench.passMs(61_000);
    for (let round = 0; round < 2; round += 1) await tick();
    expect(sentRuns().toSorted()).toEqual(idsOf(healthy));
  });

  it('are looked at more and more rarely, but at least once in a lease', async () => {
    const head = await bench.accept();
    failToSend(new Set([head.runId]));
    const { timing, clock } = bench.deps;
    const lookedAt: number[] = [];
    bench.passMs(61_000);
    for (let round = 0; round < 25; round += 1) {
      if ((await tick()).failed > 0) lookedAt.push(clock.now());
    }
    const gaps = lookedAt.slice(1).map((at, index) => at - (lookedAt[index] ?? 0));
    expect(gaps[0]).toBe(timing.sweepEveryMs);
    expect(gaps).toEqual(gaps.toSorted((a, b) => a - b));
    expect(gaps.at(-1)).toBeGreaterThan(timing.sweepEveryMs);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(timing.leaseMs + timing.sweepEveryMs);
  });

  it('are handled as soon as they can be', async () => {
    const head = await bench.accept();
    const broken = new Set([head.runId]);
    failToSend(broken);
    bench.passMs(61_000);
    expect(await sweep()).toEqual({ looked: 1, failed: 1 });
    broken.clear();
    expect(await sweep()).toEqual({ looked: 1, failed: 0 });
    expect(sentRuns()).toEqual([head.runId]);
    expect(memory.failures.size).toBe(0);
  });

  it('include one whose head nobody can read', async () => {
    const unreadable = await bench.acceptInShard(0);
    const healthy = await bench.acceptInShard(0);
    await bench.damage(unreadable);
    bench.passMs(61_000);
    expect(await sweep()).toEqual({ looked: 2, failed: 1 });
    expect(sentRuns()).toEqual([healthy.runId]);
    await sweep();
    // Its timer is moved all the same.
    expect((await sweep()).looked).toBe(0);
  });
});

describe('items of other kinds in the due index', () => {
  it('are logged and left, and block no run, however many they are', async () => {
    const logged: Record<string, unknown>[] = [];
    bench.deps.log.warn = (fields) => void logged.push(fields);
    for (let index = 0; index < 25; index += 1) await bench.putTimer(0, `APPROVAL#${index}`);
    const head = await bench.acceptInShard(0);
    bench.passMs(61_000);
    expect(await sweep()).toEqual({ looked: 1, failed: 0 });
    expect(sentRuns()).toEqual([head.runId]);
    expect(logged.map(({ count }) => count)).toEqual([10, 10, 5]);
    expect(logged[0]?.first).toContain('APPROVAL#');
    expect(await bench.timersIn(0)).toBe(26);
  });

  it('are passed over in portions when they are more than a tick reads', async () => {
    for (let index = 0; index < 55; index += 1) await bench.putTimer(0, `SESSION#${index}`);
    const head = await bench.acceptInShard(0);
    bench.passMs(61_000);
    expect((await sweep()).looked).toBe(0);
    expect((await sweep()).looked).toBe(1);
    expect(sentRuns()).toEqual([head.runId]);
  });
});

describe('one broken part', () => {
  it('hides no other shard', async () => {
    const { dueTimers } = bench.deps.ledger;
    const broken = { ...bench.deps.ledger };
    broken.dueTimers = async (shard, ...rest) => {
      if (shard === 0) throw new Error('throttled');
      return dueTimers(shard, ...rest);
    };
    const hidden = await bench.acceptInShard(0);
    const seen = await bench.acceptInShard(1);
    bench.passMs(61_000);
    expect(await sweepDueRuns({ ...bench.deps, ledger: broken }, memory)).toEqual({
      looked: 1,
      failed: 1,
    });
    expect(sentRuns()).toEqual([seen.runId]);
    await sweep();
    expect(sentRuns()).toEqual([seen.runId, hidden.runId]);
  });

  it('of the control plane ends no run, and runs without tasks go on', async () => {
    const lost = await bench.accept();
    await dispatchRun(bench.deps, bench.message(lost));
    const queued = await bench.accept();
    const down = async () => {
      throw new Error('down');
    };
    bench.deps.launcher.look = down;
    bench.deps.launcher.find = down;
    bench.passMs(61_000);
    await sweep();
    expect(sentRuns()).toEqual([queued.runId]);
    expect(await bench.ledger.readHead(lost)).toMatchObject({ status: 'starting' });
  });
});

describe('finished runs', () => {
  it('cost the sweeper nothing: the same requests and items with sixty of them as with none', async () => {
    const live = await bench.accept({ deadlineAt: at(4 * 3_600) });
    const measure = async () => {
      bench.passMs(bench.deps.timing.queuedCheckMaxMs);
      return bench.counting(sweep);
    };
    const alone = await measure();
    for (let index = 0; index < 60; index += 1) {
      const head = await bench.accept({ dueAt: live.createdAt });
      await settleRun(bench.deps, head, { kind: 'cancel_requested' });
    }
    expect(await measure()).toEqual(alone);
    expect(alone.requests).toBeGreaterThan(0);
    expect(sentRuns()).toEqual([live.runId, live.runId]);
  });
});
