import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  acceptHost,
  appendEvents,
  dispatchRun,
  renewLease,
  reportResult,
  settleStoppedTask,
  taskStoppedEventSchema,
} from '#shared/orchestrator/index.ts';
import type { RunHead } from '#shared/runs/index.ts';
import { type OrchestratorBench, openOrchestratorBench } from '#test/support/orchestrator-bench.ts';
import { completedResult, noticeEvent } from '#test/support/run-builders.ts';

let bench: OrchestratorBench;
beforeEach(async () => {
  bench = await openOrchestratorBench();
});
afterEach(() => bench.close());

/** An event as EventBridge delivers it; the envelope's own version is always "0". */
const event = (head: { runId: string; tenantId: string }, detail: object, epoch = 1) =>
  taskStoppedEventSchema.parse({
    version: '0',
    detail: {
      taskArn: `arn:task/${head.runId}/${epoch}`,
      lastStatus: 'STOPPED',
      startedBy: `${head.runId}/${epoch}/${head.tenantId}`,
      version: 10,
      ...detail,
    },
  });
const deliver = (...args: Parameters<typeof event>) =>
  settleStoppedTask(bench.deps, event(...args));
const dispatch = (head: RunHead) => dispatchRun(bench.deps, bench.message(head));
/** The head keeps a short form of the error, the final page all of it. */
const stored = async (head: RunHead) => {
  const now = await bench.ledger.readHead(head);
  const ending = now?.finalPage ? await bench.ledger.readEnding(head, now.finalPage) : undefined;
  return { ...now, ...(ending?.error ? { error: ending.error } : {}) };
};

async function claim() {
  const reply = await acceptHost(
    { ...bench.deps, vault: { read: async () => undefined }, secretsPrefix: 'x/' },
    bench.launches.at(-1)?.ticket ?? '',
    { hostInstanceId: 'host-aaaa', hostVersion: '1', sandbox: 'none' },
  );
  return {
    cursor: reply.cursor,
    scope: bench.deps.tokens.verifyExecutionToken(reply.executionToken),
  };
}

async function starting(fields: Partial<RunHead> = {}) {
  const head = await bench.accept(fields);
  await dispatch(head);
  return head;
}

describe('a task that did not start', () => {
  it.each([
    [
      'B71 its network interface was not provisioned',
      {
        stopCode: 'TaskFailedToStart',
        stoppedReason: 'Timeout waiting for network interface provisioning to complete.',
        containers: [{ name: 'agent', lastStatus: 'STOPPED' }],
      },
    ],
    [
      'B80 its image could not be pulled in time',
      {
        stopCode: 'TaskFailedToStart',
        containers: [{ reason: 'CannotPullContainerError: dial tcp 10.0.0.1:443: i/o timeout' }],
      },
    ],
  ])('%s: another attempt, even of a run that may not repeat', async (_what, detail) => {
    const head = await starting({ repeatable: false });
    await deliver(head, detail);
    expect(await stored(head)).toMatchObject({ status: 'queued', attempt: 1 });
    await dispatch(head);
    expect(await stored(head)).toMatchObject({ status: 'starting', epoch: 2, attempt: 2 });
  });

  it('B71 ends the run with the reason when its attempts are spent', async () => {
    const head = await starting({ maxAttempts: 1 });
    await deliver(head, {
      stopCode: 'TaskFailedToStart',
      stoppedReason: 'Timeout waiting for network interface provisioning to complete.',
      containers: [{ name: 'agent' }],
    });
    expect(await stored(head)).toMatchObject({
      status: 'failed',
      error: {
        code: 'launch_failed',
        message: expect.stringMatching(/network interface.*no exit code/),
        sideEffects: 'none',
      },
    });
  });

  it('B80 ends the run at once when no repeat can help, with the reason and without credentials', async () => {
    const head = await starting();
    const reason =
      'CannotPullContainerError: pull image manifest: https://user:CANARY@registry.invalid/v2: manifest unknown';
    await deliver(head, { stopCode: 'TaskFailedToStart', containers: [{ reason }] });
    const ended = await stored(head);
    expect(ended).toMatchObject({
      status: 'failed',
      error: {
        code: 'launch_failed',
        message: expect.stringContaining('manifest unknown'),
        details: { cause: 'image_missing' },
      },
    });
    expect(JSON.stringify(ended)).not.toContain('CANARY');
    // It was never running.
    expect(ended).not.toHaveProperty('startedAt');
  });
});

describe('a task that ran', () => {
  it('B43 says out of memory where the container says so, whatever the exit code', async () => {
    const head = await starting();
    await claim();
    await deliver(head, {
      containers: [
        { exitCode: 0, reason: 'OutOfMemoryError: Container killed due to memory usage' },
      ],
    });
    expect(await stored(head)).toMatchObject({
      status: 'failed',
      error: { code: 'memory_limit' },
    });
  });

  it('is believed to have run when a host claimed it, although it is said not to have started', async () => {
    const head = await starting();
    await claim();
    await deliver(head, { stopCode: 'TaskFailedToStart' });
    expect(await stored(head)).toMatchObject({
      status: 'failed',
      error: { code: 'host_lost', sideEffects: 'maybe' },
    });
  });

  it.each(['SpotInterruption', 'TerminationNotice', 'UserInitiated', 'EssentialContainerExited'])(
    'and stopped by %s is tried again only when the run may repeat',
    async (stopCode) => {
      for (const repeatable of [true, false]) {
        const head = await starting({ repeatable });
        await claim();
        await deliver(head, { stopCode, containers: [{ exitCode: 137 }] });
        expect(await stored(head)).toMatchObject(
          repeatable ? { status: 'queued' } : { status: 'failed', error: { code: 'host_lost' } },
        );
      }
    },
  );
});

describe('events of tasks', () => {
  it('B77 of a task that runs change nothing, before and after its end, in whatever order they come', async () => {
    const head = await starting({ repeatable: true });
    const running = { lastStatus: 'RUNNING', version: 9 };
    expect(await deliver(head, running)).toEqual({ outcome: 'not_ours' });
    expect(await deliver(head, { version: 10 })).toMatchObject({ outcome: 'requeued' });
    expect(await deliver(head, running)).toEqual({ outcome: 'not_ours' });
    expect(await deliver(head, { version: 10 })).toMatchObject({ outcome: 'stayed' });
    await dispatch(head);
    const before = await stored(head);
    expect(await deliver(head, { version: 10 })).toMatchObject({ outcome: 'stayed' });
    expect(await deliver(head, { version: 11 })).toMatchObject({ outcome: 'stayed' });
    expect(await stored(head)).toEqual(before);
    expect(before).toMatchObject({ status: 'starting', epoch: 2 });
  });

  it('of tasks that are none of ours change nothing', async () => {
    const head = await starting();
    for (const startedBy of ['ecs-svc/123', 'somebody', undefined]) {
      expect(await deliver(head, { startedBy })).toEqual({ outcome: 'not_ours' });
    }
    const stranger = { runId: `${head.runId.slice(0, -1)}0`, tenantId: 'nobody' };
    expect(await deliver(stranger, {})).toEqual({ outcome: 'not_found' });
  });

  it('of a second task of an attempt do not end the run of the first', async () => {
    const head = await starting();
    await claim();
    expect(await deliver(head, { taskArn: 'arn:task/second' })).toMatchObject({
      outcome: 'stayed',
    });
    expect(await stored(head)).toMatchObject({ status: 'running' });
  });
});

describe('a stopped task that still runs', () => {
  it('B79 can write nothing any more, and cannot touch the next attempt', async () => {
    const head = await starting({ repeatable: true });
    const zombie = await claim();
    await deliver(head, { containers: [{ exitCode: 137, reason: 'OutOfMemoryError' }] });
    await dispatch(head);
    await claim();
    const before = await stored(head);
    const { deps } = bench;
    const fenced = { code: 'authority_lost' };
    await expect(
      appendEvents(deps, zombie.scope, {
        cursor: zombie.cursor,
        batch: { firstProducerSequence: 1, events: [noticeEvent('still here')] },
      }),
    ).rejects.toMatchObject(fenced);
    await expect(renewLease(deps, zombie.scope)).rejects.toMatchObject(fenced);
    const reply = await reportResult(deps, zombie.scope, {
      cursor: zombie.cursor,
      batch: { firstProducerSequence: 1, events: [] },
      result: completedResult(),
    }).catch((error: unknown) => {
      expect(error).toMatchObject(fenced);
      return undefined;
    });
    expect(reply?.outcome ?? 'kept').toBe('kept');
    expect(await stored(head)).toEqual(before);
    expect(before).toMatchObject({ status: 'running', epoch: 2 });
  });
});
