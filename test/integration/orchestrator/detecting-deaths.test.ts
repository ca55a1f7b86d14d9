import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  acceptHost,
  cancelRun,
  dispatchRun,
  openSweeper,
  orphanTasksChore,
  renewLease,
  settleStoppedTask,
  type Timing,
} from '#shared/orchestrator/index.ts';
import type { RunHead } from '#shared/runs/index.ts';
import { type OrchestratorBench, openOrchestratorBench } from '#test/support/orchestrator-bench.ts';

/**
 * The bounds of docs/detecting-deaths.md, row by row: every actor of the story dies silently, no event of a stopped
 * task is delivered unless a row says so, and only the sweeper is left, looking at the worst moment.
 */

let bench: OrchestratorBench;
let timing: Timing;
beforeEach(async () => {
  bench = await openOrchestratorBench();
  timing = bench.deps.timing;
});
afterEach(() => bench.close());

const FOUND_WITHIN_MS = 60_000;
const SETTLED_WITHIN_MS = 90_000;
/** Distances between the death and the next look of the sweeper, over all of its period. */
const PHASES = [0, 1, 5_000, 11_999];

const stored = async (head: RunHead) => {
  const found = await bench.ledger.readHead(head);
  if (!found) throw new Error('the run is gone');
  return found;
};
const taskOf = ({ runId }: RunHead, epoch = 1) => `arn:task/${runId}/${epoch}`;
const dispatch = (head: RunHead) => dispatchRun(bench.deps, bench.message(head));
const sentFor = (head: RunHead) => bench.sent.filter(({ message }) => message.runId === head.runId);

async function starting(fields: Partial<RunHead> = {}) {
  const head = await bench.accept(fields);
  await dispatch(head);
  return head;
}

async function running(fields: Partial<RunHead> = {}) {
  const head = await starting(fields);
  const claim = await acceptHost(
    { ...bench.deps, vault: { read: async () => undefined }, secretsPrefix: 'x/' },
    bench.launches.at(-1)?.ticket ?? '',
    { hostInstanceId: 'host-aaaa', hostVersion: '1', sandbox: 'none' },
  );
  return { head, scope: bench.deps.tokens.verifyExecutionToken(claim.executionToken) };
}

/** Sweeps every 12 s, the first time after `phaseMs`, until `done`; answers how long that took. */
async function sweepUntil(
  done: () => Promise<boolean> | boolean,
  phaseMs: number,
  atMostMs = 30 * 60_000,
): Promise<number> {
  const sweeper = openSweeper({ ...bench.deps, wait: async (ms) => bench.passMs(ms) }, [
    orphanTasksChore(bench.deps),
  ]);
  let passedMs = phaseMs;
  bench.passMs(phaseMs);
  for (;;) {
    await sweeper.tick();
    if (await done()) return passedMs;
    if (passedMs > atMostMs) throw new Error(`nothing was noticed in ${passedMs} ms`);
    bench.passMs(timing.sweepEveryMs);
    passedMs += timing.sweepEveryMs;
  }
}

/** A healthy host: beats on time while the sweeper looks, for `ms`; ends with a beat. */
async function liveOn(scope: Parameters<typeof renewLease>[1], ms: number, phaseMs: number) {
  const sweeper = openSweeper({ ...bench.deps, wait: async (each) => bench.passMs(each) }, []);
  let at = 0;
  let nextLook = phaseMs;
  for (let beat = 0; beat <= ms; beat += timing.heartbeatEveryMs) {
    for (; nextLook < beat; nextLook += timing.sweepEveryMs) {
      bench.passMs(nextLook - at);
      at = nextLook;
      await sweeper.tick();
    }
    bench.passMs(beat - at);
    at = beat;
    await renewLease(bench.deps, scope);
  }
}

const hasLeft = (head: RunHead, status: RunHead['status']) => async () =>
  (await stored(head)).status !== status;

describe('the message of a queued run', () => {
  it.each(PHASES)(
    'is sent again within 90 s when it was lost (next look after %i ms)',
    async (phase) => {
      const head = await bench.accept();
      const took = await sweepUntil(() => sentFor(head).length > 0, phase);
      expect(took).toBeLessThanOrEqual(timing.queuedCheckMs + timing.sweepEveryMs);
      expect(took).toBeLessThanOrEqual(SETTLED_WITHIN_MS);
    },
  );

  it.each(PHASES)(
    'of a later attempt is sent again, too (next look after %i ms)',
    async (phase) => {
      const { head } = await running({ repeatable: true });
      await settleStoppedTask(bench.deps, {
        detail: {
          taskArn: taskOf(head),
          lastStatus: 'STOPPED',
          startedBy: `${head.runId}/1/${head.tenantId}`,
          containers: [{ exitCode: 137 }],
        },
      });
      const [lost] = sentFor(head);
      const took = await sweepUntil(() => sentFor(head).length > 1, phase);
      expect(took - (lost?.delayMs ?? 0)).toBeLessThanOrEqual(
        timing.queuedCheckMs + timing.sweepEveryMs,
      );
    },
  );
});

describe('the function that claims and launches', () => {
  it.each(PHASES)(
    'dies before the launch: the run is launched again, as the same attempt (next look after %i ms)',
    async (phase) => {
      const head = await bench.accept();
      bench.onLaunch(async () => {
        throw new Error('killed');
      });
      await expect(dispatch(head)).rejects.toThrow('killed');
      bench.onLaunch(undefined);
      const took = await sweepUntil(() => sentFor(head).length > 0, phase);
      expect(took).toBeLessThanOrEqual(FOUND_WITHIN_MS);
      expect(await dispatch(head)).toBe('launched');
      expect(await stored(head)).toMatchObject({ epoch: 1, attempt: 1, taskArn: taskOf(head) });
      expect(new Set(bench.launches.map(({ ticket }) => ticket)).size).toBe(1);
    },
  );

  it.each(PHASES)(
    'B83 dies after the launch: the task is found by the name of its attempt (next look after %i ms)',
    async (phase) => {
      const head = await bench.accept();
      bench.onLaunch(async () => {
        bench.states.set(taskOf(head), 'running');
        throw new Error('killed');
      });
      await expect(dispatch(head)).rejects.toThrow('killed');
      const took = await sweepUntil(async () => (await stored(head)).taskArn !== undefined, phase);
      expect(took).toBeLessThanOrEqual(FOUND_WITHIN_MS);
      expect(await stored(head)).toMatchObject({ status: 'starting', taskArn: taskOf(head) });
      expect(sentFor(head)).toEqual([]);
    },
  );
});

describe('a task that nobody has claimed', () => {
  it.each(PHASES)('stops: another attempt within 90 s (next look after %i ms)', async (phase) => {
    const head = await starting();
    bench.states.set(taskOf(head), 'stopped');
    bench.stopped.set(taskOf(head), {
      stopCode: 'TaskFailedToStart',
      stoppedReason: 'Timeout waiting for network interface provisioning to complete.',
    });
    const took = await sweepUntil(hasLeft(head, 'starting'), phase);
    expect(took).toBeLessThanOrEqual(FOUND_WITHIN_MS);
    expect(await stored(head)).toMatchObject({ status: 'queued', attempt: 1 });
  });

  it('hangs: it is stopped when the time for a launch is over', async () => {
    const head = await starting();
    const took = await sweepUntil(hasLeft(head, 'starting'), 11_999);
    expect(took).toBeGreaterThanOrEqual(timing.launchLeaseMs);
    expect(took).toBeLessThanOrEqual(timing.launchLeaseMs + timing.sweepEveryMs);
    expect(bench.stops).toEqual([taskOf(head)]);
    expect(await stored(head)).toMatchObject({ status: 'queued' });
  });

  it('is missing right after the launch: the control plane is given time to know it', async () => {
    const head = await starting();
    bench.states.delete(taskOf(head));
    await sweepUntil(() => true, timing.leaseMs);
    expect(await stored(head)).toMatchObject({ status: 'starting' });
  });
});

describe('a host', () => {
  it.each(PHASES.flatMap((phase) => [0, 60_000, 135_000].map((lived) => [phase, lived] as const)))(
    'HST-5 dies with its task: found within 60 s, ended within 90 s (next look after %i ms, lived %i ms)',
    async (phase, lived) => {
      const { head, scope } = await running();
      await liveOn(scope, lived, phase);
      expect((await stored(head)).status).toBe('running');
      bench.states.set(taskOf(head), 'stopped');
      bench.stopped.set(taskOf(head), {
        stopCode: 'EssentialContainerExited',
        containers: [{ exitCode: 137 }],
      });
      const took = await sweepUntil(hasLeft(head, 'running'), phase);
      expect(took).toBeLessThanOrEqual(FOUND_WITHIN_MS);
      expect(await stored(head)).toMatchObject({
        status: 'failed',
        error: { code: 'host_lost', message: expect.stringContaining('exit code 137') },
      });
    },
  );

  it.each(PHASES)(
    'dies with a task that is forgotten: found all the same (next look after %i ms)',
    async (phase) => {
      const { head } = await running({ repeatable: true });
      bench.states.delete(taskOf(head));
      expect(await sweepUntil(hasLeft(head, 'running'), phase)).toBeLessThanOrEqual(
        FOUND_WITHIN_MS,
      );
      expect(await stored(head)).toMatchObject({ status: 'queued' });
    },
  );

  it.each(PHASES)(
    'dies, and the control plane notices a minute later: ended one look after that (next look after %i ms)',
    async (phase) => {
      const { head } = await running();
      const noticedAt = bench.deps.clock.now() + 70_000;
      const took = await sweepUntil(async () => {
        if (bench.deps.clock.now() >= noticedAt) bench.states.set(taskOf(head), 'stopped');
        return hasLeft(head, 'running')();
      }, phase);
      expect(took).toBeLessThanOrEqual(70_000 + 2 * timing.sweepEveryMs);
    },
  );

  it.each(PHASES)(
    'B83 dies with a task whose name was lost: found (next look after %i ms)',
    async (phase) => {
      const { head } = await running();
      await bench.forgetTask(head);
      bench.states.delete(taskOf(head));
      expect(await sweepUntil(hasLeft(head, 'running'), phase)).toBeLessThanOrEqual(
        FOUND_WITHIN_MS,
      );
      expect(await stored(head)).toMatchObject({ status: 'failed', error: { code: 'host_lost' } });
    },
  );

  it('B100 falls silent while its task lives: the run goes on, until the task is stopped for it', async () => {
    const { head } = await running();
    const took = await sweepUntil(() => bench.stops.length > 0, 11_999);
    const silentMs = timing.leaseMs + timing.silentStopMs;
    expect(took).toBeGreaterThanOrEqual(silentMs);
    expect(took).toBeLessThanOrEqual(silentMs + timing.sweepEveryMs);
    expect(await stored(head)).toMatchObject({ status: 'running' });
    bench.states.set(taskOf(head), 'stopped');
    expect(await sweepUntil(hasLeft(head, 'running'), 0)).toBeLessThanOrEqual(timing.sweepEveryMs);
    expect(await stored(head)).toMatchObject({ error: { code: 'host_lost' } });
  });

  it.each(PHASES)(
    'of a cancelled run dies before it confirms: cancelled within 60 s (next look after %i ms)',
    async (phase) => {
      const { head } = await running();
      await cancelRun(bench.deps, head, { reason: 'enough', requestedBy: 'me' });
      bench.states.set(taskOf(head), 'stopped');
      expect(await sweepUntil(hasLeft(head, 'cancelling'), phase)).toBeLessThanOrEqual(
        timing.cancelCheckMs + timing.sweepEveryMs,
      );
      expect(await stored(head)).toMatchObject({ status: 'cancelled' });
    },
  );

  it('of a cancelled run hangs: its task is told to stop at every look until it is gone', async () => {
    const { head } = await running();
    await cancelRun(bench.deps, head, { reason: 'enough', requestedBy: 'me' });
    await sweepUntil(() => bench.stops.length === 3, 0);
    expect(await stored(head)).toMatchObject({ status: 'cancelling' });
    bench.states.set(taskOf(head), 'stopped');
    await sweepUntil(hasLeft(head, 'cancelling'), 0);
    expect(await stored(head)).toMatchObject({ status: 'cancelled' });
  });

  it('of a run that was cancelled during its launch never existed: cancelled', async () => {
    const head = await bench.accept();
    bench.onLaunch(async () => {
      throw new Error('killed');
    });
    await expect(dispatch(head)).rejects.toThrow('killed');
    await cancelRun(bench.deps, head, { reason: undefined, requestedBy: 'me' });
    await sweepUntil(hasLeft(head, 'cancelling'), 11_999);
    expect(await stored(head)).toMatchObject({ status: 'cancelled' });
  });
});

describe('a deadline', () => {
  it('that the host does not keep is kept by the platform a grace later, even when tasks cannot be stopped', async () => {
    const { head, scope } = await running();
    const { deps } = bench;
    const down = async () => {
      throw new Error('the control plane is down');
    };
    bench.deps.launcher.stop = down;
    bench.deps.launcher.look = down;
    const left = Date.parse(head.deadlineAt) - deps.clock.now();
    for (let passed = 0; passed < left; passed += timing.heartbeatEveryMs) {
      bench.passMs(timing.heartbeatEveryMs);
      await renewLease(deps, scope);
    }
    const took = await sweepUntil(hasLeft(head, 'running'), 11_999);
    expect(took).toBeLessThanOrEqual(timing.deadlineGraceMs + timing.sweepEveryMs);
    expect(await stored(head)).toMatchObject({ status: 'timed_out' });
  });
});

describe('the timer of a live run', () => {
  it('is never further away than a lease, whatever happens to the run', async () => {
    const head = await bench.accept({ repeatable: true });
    const farthest = async () => {
      const { status, dueAt } = await stored(head);
      expect(['starting', 'running', 'cancelling']).toContain(status);
      expect(Date.parse(dueAt ?? '')).toBeLessThanOrEqual(bench.deps.clock.now() + timing.leaseMs);
    };
    await dispatch(head);
    await farthest();
    await sweepUntil(() => true, timing.leaseMs);
    await farthest();
    const claim = await acceptHost(
      { ...bench.deps, vault: { read: async () => undefined }, secretsPrefix: 'x/' },
      bench.launches.at(-1)?.ticket ?? '',
      { hostInstanceId: 'host-aaaa', hostVersion: '1', sandbox: 'none' },
    );
    await farthest();
    const scope = bench.deps.tokens.verifyExecutionToken(claim.executionToken);
    const { dueAt } = await stored(head);
    await renewLease(bench.deps, scope);
    expect((await stored(head)).dueAt).toBe(dueAt);
    await sweepUntil(() => true, timing.leaseMs);
    await farthest();
    await cancelRun(bench.deps, head, { reason: undefined, requestedBy: 'me' });
    await farthest();
    await sweepUntil(() => true, timing.leaseMs);
    await farthest();
  });
});
