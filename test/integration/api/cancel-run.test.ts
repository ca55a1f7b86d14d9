import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ExecutionResult, executionError, isFinalEventType } from '#shared/contracts/index.ts';
import { dispatchRun, settleRun } from '#shared/orchestrator/index.ts';
import type { RunHead } from '#shared/runs/index.ts';
import { type ApiBench, openApiBench } from '#test/support/api-bench.ts';
import { claimRun, startLiveRun } from '#test/support/live-run.ts';
import { noticeEvent } from '#test/support/run-builders.ts';

let bench: ApiBench;
beforeEach(async () => {
  bench = await openApiBench();
});
afterEach(() => bench.close());

const cancel = async (head: RunHead, reason?: string) =>
  (await bench.apiClient()).cancelRun(head.runId, reason === undefined ? {} : { reason });

async function eventsOf(head: RunHead) {
  const page = await (await bench.apiClient()).listEvents(head.runId, { limit: 1_000 });
  return page.events;
}
const typesOf = async (head: RunHead) => (await eventsOf(head)).map(({ eventType }) => eventType);

const view = async (head: RunHead) => (await bench.apiClient()).getRun(head.runId);

const taskOf = (head: RunHead, epoch = 1) => `arn:task/${head.runId}/${epoch}`;

const cancelled: Partial<ExecutionResult> = {
  status: 'cancelled',
  error: executionError('run_cancelled', 'stopped', { sideEffects: 'maybe' }),
};

describe('POST /v1/runs/{runId}/cancel', () => {
  it('B103 ends a queued run at once, and no task is ever started for it', async () => {
    const head = await bench.accept();
    expect(await cancel(head)).toEqual({ runId: head.runId, status: 'cancelled' });
    await dispatchRun(bench.deps, bench.message(head));
    expect(bench.launches).toEqual([]);
    expect(await typesOf(head)).toEqual(['run.queued', 'run.cancelled']);
    expect(await view(head)).toMatchObject({
      status: 'cancelled',
      attempts: [],
      processTree: { verifiedBy: 'never_started' },
    });
  });

  it('B103 stops the task of a run that is cancelled while it is being launched', async () => {
    const head = await bench.accept();
    const launching = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    bench.onLaunch(async ({ ref, epoch }) => {
      launching.resolve();
      await goOn.promise;
      bench.states.set(taskOf({ ...head, ...ref }, epoch), 'running');
      return { outcome: 'launched', taskArn: taskOf(head, epoch) };
    });
    const dispatching = dispatchRun(bench.deps, bench.message(head));
    await launching.promise;
    expect(await cancel(head)).toMatchObject({ status: 'cancelling' });
    goOn.resolve();
    await dispatching;
    expect(bench.stops).toContain(taskOf(head));
    // Its host comes all the same: it gets nothing to do, and with that the run has ended.
    await expect(claimRun(bench, head)).rejects.toMatchObject({ code: 'ticket_refused' });
    expect(await typesOf(head)).toEqual(['run.queued', 'run.cancel_requested', 'run.cancelled']);
  });

  it('B103 B110 ends a running run cancelled, although its engine finished just then', async () => {
    const run = await startLiveRun(bench);
    await run.append(noticeEvent('working'));
    expect(await cancel(run.head, 'enough')).toMatchObject({ status: 'cancelling' });
    expect(bench.stops).toEqual([taskOf(run.head)]);
    expect(await run.end({ output: 'all done' })).toEqual({
      outcome: 'committed',
      status: 'cancelled',
    });
    const types = await typesOf(run.head);
    expect(types.filter(isFinalEventType)).toEqual(['run.cancelled']);
    expect(types.at(-1)).toBe('run.cancelled');
    const ended = await view(run.head);
    expect(ended).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
    expect(ended.result).toBeUndefined();
  });

  it('is too late for a run whose result was committed, and says how it ended', async () => {
    const run = await startLiveRun(bench);
    await run.end();
    await expect(cancel(run.head)).rejects.toMatchObject({
      status: 409,
      code: 'already_terminal',
      details: { status: 'completed' },
    });
    expect((await typesOf(run.head)).at(-1)).toBe('run.completed');
    expect(bench.stops).toEqual([]);
  });

  it('B110 and a result that race leave one ending, and the answers agree with it', async () => {
    for (let round = 0; round < 8; round += 1) {
      const run = await startLiveRun(bench);
      const [asked, reported] = await Promise.all([
        cancel(run.head).then(
          () => 'accepted',
          (error: { code: string }) => error.code,
        ),
        run.end(),
      ]);
      const types = (await typesOf(run.head)).filter(isFinalEventType);
      expect(types).toEqual([asked === 'accepted' ? 'run.cancelled' : 'run.completed']);
      expect(['accepted', 'already_terminal']).toContain(asked);
      expect(reported).toMatchObject({ outcome: 'committed' });
    }
  });

  it('B106 a claim, an event and a heartbeat after the end change nothing of it', async () => {
    const run = await startLiveRun(bench);
    await cancel(run.head);
    await run.end(cancelled);
    const ended = await view(run.head);
    const events = await eventsOf(run.head);
    bench.passMs(2_000);
    await expect(run.append(noticeEvent('late'))).rejects.toMatchObject({ code: 'authority_lost' });
    await expect(run.heartbeat()).rejects.toMatchObject({ code: 'authority_lost' });
    await expect(claimRun(bench, run.head)).rejects.toMatchObject({ code: 'ticket_refused' });
    expect(await view(run.head)).toEqual(ended);
    expect(await eventsOf(run.head)).toEqual(events);
    const { startedAt = '', endedAt = '' } = ended;
    expect(startedAt <= endedAt).toBe(true);
  });

  it('is harmless when it is repeated, at once and later', async () => {
    const run = await startLiveRun(bench);
    const answers = await Promise.all(Array.from({ length: 5 }, () => cancel(run.head)));
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill('cancelling'));
    await run.end(cancelled);
    expect(await cancel(run.head)).toEqual({ runId: run.head.runId, status: 'cancelled' });
    const types = await typesOf(run.head);
    expect(types.filter((type) => type === 'run.cancel_requested')).toHaveLength(1);
    expect(types.filter(isFinalEventType)).toHaveLength(1);
  });

  it('B103 tells the task again when it is repeated: the first request may have died before it did', async () => {
    const run = await startLiveRun(bench);
    const { stop } = bench.deps.launcher;
    bench.deps.launcher.stop = async () => {
      throw new Error('the function was killed here');
    };
    expect(await cancel(run.head)).toMatchObject({ status: 'cancelling' });
    bench.deps.launcher.stop = stop;
    expect(bench.stops).toEqual([]);
    await cancel(run.head);
    expect(bench.stops).toEqual([taskOf(run.head)]);
  });

  it('SEC-4 does not know the runs of another tenant', async () => {
    const run = await startLiveRun(bench);
    const foreign = await bench.apiClient('globex');
    await expect(foreign.cancelRun(run.head.runId)).rejects.toMatchObject({
      status: 404,
      code: 'run_not_found',
    });
    expect(await view(run.head)).toMatchObject({ status: 'running' });
  });
});

describe('a host learns of a cancel by whatever comes first', () => {
  const told = { directives: [{ kind: 'cancel', reason: 'enough' }] };

  it('its next events, which lose their place to the platform’s page and are stored behind it', async () => {
    const run = await startLiveRun(bench);
    await run.append(noticeEvent('one'));
    await cancel(run.head, 'enough');
    expect(await run.append(noticeEvent('two'), noticeEvent('three'))).toMatchObject(told);
    // It goes on telling what it does until its engine is gone.
    expect((await run.append(noticeEvent('four'))).directives).toEqual([]);
    const types = await typesOf(run.head);
    expect(types.slice(-5)).toEqual([
      'execution.diagnostic',
      'run.cancel_requested',
      ...Array(3).fill('execution.diagnostic'),
    ]);
  });

  it('its heartbeat, when it has nothing to tell', async () => {
    const run = await startLiveRun(bench);
    expect(await run.heartbeat()).toMatchObject({ directives: [] });
    await cancel(run.head, 'enough');
    expect(await run.heartbeat()).toMatchObject(told);
  });

  it('the signal with which its task is stopped', async () => {
    const run = await startLiveRun(bench);
    await cancel(run.head);
    expect(bench.stops).toEqual([taskOf(run.head)]);
  });

  it('in the middle of appends: none is lost, none doubled, and the cancel is told once', async () => {
    const run = await startLiveRun(bench);
    const directives: unknown[] = [];
    let count = 0;
    let isAccepted = false;
    const telling = (async () => {
      while (!isAccepted) {
        // The way from the host to the gateway: here they are one process, and nothing else would get a word in.
        await fetch(`${bench.url}/nowhere`);
        directives.push(...(await run.append(noticeEvent(`${count}`))).directives);
        count += 1;
      }
    })();
    await cancel(run.head, 'enough');
    isAccepted = true;
    await telling;
    directives.push(...(await run.append(noticeEvent(`${count}`))).directives);
    await run.end(cancelled);
    expect(directives).toEqual(told.directives);
    const messages = (await eventsOf(run.head)).flatMap(({ eventType, payload }) =>
      eventType === 'execution.diagnostic' ? [(payload as { message: string }).message] : [],
    );
    expect(messages).toEqual(Array.from({ length: count + 1 }, (_, nth) => `${nth}`));
  });
});

describe('after an accepted cancel', () => {
  const error = executionError('engine_crashed', 'it crashed');
  const results: Partial<ExecutionResult>[] = [
    {},
    cancelled,
    { status: 'failed', error },
    { status: 'failed', error: executionError('host_lost', 'gone') },
    { status: 'budget_exhausted', error: executionError('budget_exhausted', 'spent') },
    { status: 'timed_out', error: executionError('run_timed_out', 'too long') },
  ];

  it.each(results.map((result) => [result.status ?? 'completed', result] as const))(
    'B110 a result that says %s ends the run cancelled or timed out, and never starts another attempt',
    async (_status, result) => {
      const run = await startLiveRun(bench, { repeatable: true });
      await cancel(run.head);
      await run.end(result);
      const { status } = await view(run.head);
      expect(status).toBe(result.status === 'timed_out' ? 'timed_out' : 'cancelled');
      expect(bench.launches).toHaveLength(1);
    },
  );

  it('a task that is gone ends it, and says by whom it was seen', async () => {
    const run = await startLiveRun(bench, { repeatable: true });
    await cancel(run.head);
    await settleRun(bench.deps, run.head, { kind: 'lease_expired', epoch: 1, task: 'missing' });
    expect(await view(run.head)).toMatchObject({
      status: 'cancelled',
      processTree: { verifiedBy: 'task_missing' },
    });
  });
});
