import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { executionError } from '#shared/contracts/index.ts';
import {
  acceptHost,
  cancelRun,
  dispatchRun,
  type LaunchOutcome,
  readTaskStop,
  sweepDueRuns,
} from '#shared/orchestrator/index.ts';
import { runLimitsSchema } from '#shared/quotas/index.ts';
import type { RunHead } from '#shared/runs/index.ts';
import { type OrchestratorBench, openOrchestratorBench } from '#test/support/orchestrator-bench.ts';

let bench: OrchestratorBench;
beforeEach(async () => {
  bench = await openOrchestratorBench();
});
afterEach(() => bench.close());

const dispatch = (head: RunHead) => dispatchRun(bench.deps, bench.message(head));
const stored = (head: RunHead) => bench.ledger.readHead(head);
const refusal = (permanent: boolean): LaunchOutcome => ({
  outcome: 'refused',
  error: executionError('launch_failed', 'Capacity is unavailable at this time.'),
  permanent,
});
const taken = async () => {
  const partitions = Array.from({ length: 16 }, (_, index) =>
    bench.ledger.listQuotaCounters(index),
  );
  return (await Promise.all(partitions)).flat().reduce((sum, { live }) => sum + live, 0);
};
const pages = async (head: RunHead) => (await bench.ledger.readPages(head, 0, 100)).length;

describe('a launch for which there is no room', () => {
  beforeEach(() => bench.onLaunch(async () => refusal(false)));

  it('B70 is tried again later: no task, so no attempt; its slot is free meanwhile', async () => {
    const head = await bench.accept({ maxAttempts: 1 });
    expect(await dispatch(head)).toBe('waiting_for_room');
    expect(await stored(head)).toMatchObject({ status: 'queued', attempt: 0, epoch: 1 });
    expect(await stored(head)).not.toHaveProperty('taskArn');
    expect(await taken()).toBe(0);
    expect(await pages(head)).toBe(1);
    expect(bench.sent).toMatchObject([{ message: bench.message(head), delayMs: 2_000 }]);

    bench.onLaunch(undefined);
    expect(await dispatch(head)).toBe('launched');
    const [first, second] = bench.launches;
    expect(second?.ticket).not.toBe(first?.ticket);
    expect(await stored(head)).toMatchObject({ status: 'starting', attempt: 1, epoch: 2 });
    expect(await taken()).toBe(1);
  });

  it('B70 waits longer each time, up to a minute, until the deadline of the run', async () => {
    const head = await bench.accept();
    const delays: number[] = [];
    while ((await stored(head))?.status === 'queued') {
      await dispatch(head);
      const delayMs = bench.sent.at(-1)?.delayMs ?? 0;
      delays.push(delayMs);
      bench.passMs(Math.max(delayMs, 30_000));
    }
    expect(Math.max(...delays)).toBeGreaterThan(10_000);
    expect(Math.max(...delays)).toBeLessThanOrEqual(bench.deps.timing.roomWaitMs);
    expect(await stored(head)).toMatchObject({ status: 'timed_out', attempt: 0 });
  });

  it('calls the run that waits for its slot', async () => {
    const limited = { ...bench.deps, limits: runLimitsSchema.parse({ perTenant: 1 }) };
    const head = await bench.accept();
    const waiting = await bench.accept();
    bench.onLaunch(async () => {
      expect(await dispatchRun(limited, bench.message(waiting))).toBe('waiting_for_quota');
      return refusal(false);
    });
    expect(await dispatchRun(limited, bench.message(head))).toBe('waiting_for_room');
    expect(bench.sent.map(({ message }) => message)).toContainEqual(bench.message(waiting));
  });

  it('is tried again by the sweeper when its message was lost', async () => {
    const head = await bench.accept();
    await dispatch(head);
    bench.passMs(2_000 + bench.deps.timing.queuedCheckMs);
    await sweepDueRuns(bench.deps);
    expect(bench.sent).toHaveLength(2);
  });

  it('admits no host with the ticket of the claim that was given back', async () => {
    const head = await bench.accept();
    await dispatch(head);
    const claim = acceptHost(
      { ...bench.deps, vault: { read: async () => undefined }, secretsPrefix: 'x/' },
      bench.launches.at(-1)?.ticket ?? '',
      { hostInstanceId: 'host-aaaa', hostVersion: '1', sandbox: 'none' },
    );
    await expect(claim).rejects.toMatchObject({ code: 'ticket_refused' });
  });

  it('B95 is given back once when the answer of that was lost', async () => {
    const head = await bench.accept();
    const { releaseClaim } = bench.deps.ledger;
    const ledger = { ...bench.deps.ledger };
    ledger.releaseClaim = async (input) => {
      await releaseClaim(input);
      return releaseClaim(input);
    };
    expect(await dispatchRun({ ...bench.deps, ledger }, bench.message(head))).toBe(
      'waiting_for_room',
    );
    expect(await stored(head)).toMatchObject({ status: 'queued', attempt: 0 });
    expect(await taken()).toBe(0);
    expect(bench.sent).toHaveLength(1);
  });

  it('ends a run that was cancelled meanwhile', async () => {
    const head = await bench.accept();
    bench.onLaunch(async () => {
      await cancelRun(bench.deps, head, { reason: undefined, requestedBy: 'me' });
      return refusal(false);
    });
    expect(await dispatch(head)).toBe('ended');
    expect(await stored(head)).toMatchObject({ status: 'cancelled' });
    expect(await taken()).toBe(0);
  });

  it('takes nothing from a run whose task another delivery has launched', async () => {
    const head = await bench.accept();
    bench.onLaunch(async () => {
      bench.onLaunch(undefined);
      await dispatch(head);
      return refusal(false);
    });
    await dispatch(head);
    expect(await stored(head)).toMatchObject({
      status: 'starting',
      epoch: 1,
      taskArn: `arn:task/${head.runId}/1`,
    });
    expect(await taken()).toBe(1);
  });
});

describe('a launch that is rejected', () => {
  it('B74 fails the run with the reason, and starts nothing in its place', async () => {
    const head = await bench.accept();
    bench.onLaunch(async () => refusal(true));
    expect(await dispatch(head)).toBe('ended');
    expect(await stored(head)).toMatchObject({
      status: 'failed',
      error: { code: 'launch_failed', message: expect.stringContaining('Capacity') },
    });
    expect(bench.launches).toHaveLength(1);
    expect([...bench.states]).toEqual([]);
    expect(bench.sent).toEqual([]);
  });
});

describe('a launch that meets its own task, stopped', () => {
  it('B76 is no launch: the attempt counts, and the next one has a token of its own', async () => {
    const head = await bench.accept();
    bench.onLaunch(async () => ({
      outcome: 'stopped',
      taskArn: 'arn:old',
      stop: readTaskStop({ stopCode: 'TaskFailedToStart', stoppedReason: 'network interface' }),
    }));
    expect(await dispatch(head)).toBe('requeued');
    bench.onLaunch(undefined);
    expect(await dispatch(head)).toBe('launched');
    expect(await stored(head)).toMatchObject({
      attempt: 2,
      taskArn: `arn:task/${head.runId}/2`,
    });
    expect(bench.launches.map(({ epoch }) => epoch)).toEqual([1, 2]);
  });
});
