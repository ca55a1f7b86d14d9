import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AgentEvent, CreateRunRequest } from '#shared/contracts/index.ts';
import {
  engineProcesses,
  eventually,
  followToEnd,
  hostProcesses,
  newDataDir,
  removeDataDir,
  runToEnd,
  type StackProcess,
  startStackProcess,
} from '#test/support/stack-process.ts';

let stack: StackProcess;
beforeEach(async () => {
  stack = await startStackProcess(newDataDir());
});
afterEach(async () => {
  await stack.stop();
  removeDataDir(stack.dataDir);
});

type Script = NonNullable<CreateRunRequest['config']>;
const scripted = (script: unknown[], more: Partial<CreateRunRequest> = {}): CreateRunRequest => ({
  engine: { id: 'local_test' },
  input: { prompt: 'scripted' },
  config: { script } as Script,
  ...more,
});

const says = (event: AgentEvent, text: string) =>
  event.eventType === 'message.completed' && (event.payload as { text: string }).text === text;

/** What holds for every run, however it died: dense sequence, one final event, at the end, of the run's own status. */
function expectOneEnding(run: { status: string }, events: readonly AgentEvent[]) {
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  const finals = events.filter(({ eventType }) =>
    [
      'run.completed',
      'run.failed',
      'run.cancelled',
      'run.timed_out',
      'run.budget_exhausted',
    ].includes(eventType),
  );
  expect(finals.map(({ eventType }) => eventType)).toEqual([`run.${run.status}`]);
  expect(events.at(-1)).toEqual(finals[0]);
}

/** Resolves with the events as they come; `seen` when one fits. */
function watch(runId: string, fits: (event: AgentEvent) => boolean) {
  let tell: () => void;
  const seen = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const ended = followToEnd(stack, runId, (event) => {
    if (fits(event)) tell();
  });
  return { seen, ended };
}

describe('cancel', () => {
  it('HST-2 removes a Codex command and its child that ignore SIGTERM, then confirms', async () => {
    let cancelled = false;
    const { run, events } = await runToEnd(
      stack,
      { engine: { id: 'codex' }, input: { prompt: '[[scenario:ignore-signals]]' } },
      async (event, runId) => {
        if (cancelled || event.eventType !== 'tool.started') return;
        cancelled = true;
        expect(engineProcesses(runId).length).toBeGreaterThan(0);
        await stack.client.cancelRun(runId, { reason: 'enough' });
      },
    );
    expect(engineProcesses(run.runId)).toEqual([]);
    expect(run).toMatchObject({ status: 'cancelled', error: { class: 'Cancelled' } });
    expectOneEnding(run, events);
    expect(events.map(({ eventType }) => eventType)).toContain('run.cancel_requested');
  });

  it('B38 B41 removes daemons of an engine that ignores every polite signal', async () => {
    let cancelled = false;
    const { run, events } = await runToEnd(
      stack,
      scripted([
        { ignoreSignals: true },
        { spawnDaemon: { count: 3 } },
        { say: 'settled' },
        { wait: 'forever' },
      ]),
      async (event, runId) => {
        if (cancelled || !says(event, 'settled')) return;
        cancelled = true;
        await stack.client.cancelRun(runId);
      },
    );
    expect(engineProcesses(run.runId)).toEqual([]);
    expect(run.status).toBe('cancelled');
    expectOneEnding(run, events);
  });

  it('ends a run that was never started, and can be repeated', async () => {
    const { executionId } = await stack.client.createRun(scripted([{ wait: 'forever' }]));
    await stack.client.cancelRun(executionId);
    await stack.client.cancelRun(executionId);
    const { run, events } = await followToEnd(stack, executionId);
    expect(run.status).toBe('cancelled');
    expectOneEnding(run, events);
    await expect(stack.client.cancelRun(executionId)).resolves.toBeDefined();
  });

  it('of all runs leaves nothing alive: neither those that run, nor those that wait', async () => {
    const ids: string[] = [];
    for (let nth = 0; nth < 4; nth += 1) {
      const run = scripted([{ ignoreSignals: true }, { say: 'settled' }, { wait: 'forever' }]);
      ids.push((await stack.client.createRun(run)).executionId);
    }
    // Two at least are in the middle of it; the others may be anywhere before that.
    for (const id of ids.slice(0, 2)) {
      for await (const event of stack.client.streamEvents(id)) if (says(event, 'settled')) break;
    }
    const summary = await stack.client.cancelAllRuns({ all: true }, { reason: 'maintenance' });
    expect(summary.complete).toBe(true);
    expect(summary.runs.map(({ runId }) => runId).sort()).toEqual(ids.toSorted());
    for (const id of ids) {
      const { run, events } = await followToEnd(stack, id);
      expect(run).toMatchObject({
        status: 'cancelled',
        processTree: { verifiedGoneAt: expect.any(String) },
      });
      expectOneEnding(run, events);
      expect(engineProcesses(id)).toEqual([]);
    }
    const live = ['queued', 'starting', 'running', 'cancelling'] as const;
    expect(await stack.client.listRunsPage({ status: live })).toEqual({ runs: [] });
  });
});

describe('kill -9 of the engine', () => {
  it('ends the run as failed, with its last words kept', async () => {
    let killed = false;
    const { run, events } = await runToEnd(
      stack,
      // Nothing was touched, so it would be tried again.
      scripted([{ say: 'alive' }, { wait: 'forever' }], { retry: { maxAttempts: 1 } }),
      async (event, runId) => {
        if (killed || !says(event, 'alive')) return;
        killed = true;
        for (const pid of engineProcesses(runId)) process.kill(pid, 'SIGKILL');
      },
    );
    expect(run).toMatchObject({ status: 'failed', error: { code: 'engine_crashed' } });
    expectOneEnding(run, events);
  });
});

describe('kill -9 of the host', () => {
  const killHostOnce = () => {
    let killed = false;
    return (event: AgentEvent, runId: string) => {
      if (killed || !says(event, 'alive')) return;
      killed = true;
      for (const pid of hostProcesses(runId)) process.kill(pid, 'SIGKILL');
    };
  };

  it('ends a run that may not repeat as failed, and its engine is gone', async () => {
    const { run, events } = await runToEnd(
      stack,
      scripted([{ say: 'alive' }, { wait: 'forever' }]),
      killHostOnce(),
    );
    expect(run).toMatchObject({
      status: 'failed',
      error: { code: 'host_lost', sideEffects: 'maybe' },
    });
    expectOneEnding(run, events);
    await eventually(() => (engineProcesses(run.runId).length === 0 ? true : undefined));
  });

  it('ORC-7 tries a repeatable run again, with every attempt visible', async () => {
    const { run, events } = await runToEnd(
      stack,
      scripted([{ say: 'alive' }, { wait: 1_500 }, { complete: 'made it' }], {
        retry: { repeatable: true },
      }),
      killHostOnce(),
    );
    expect(run).toMatchObject({
      status: 'completed',
      attempt: 2,
      attempts: [
        { attempt: 1, outcome: 'requeued', error: { code: 'host_lost' } },
        { attempt: 2, outcome: 'completed' },
      ],
      result: { output: 'made it' },
    });
    expectOneEnding(run, events);
    expect(events.filter(({ eventType }) => eventType === 'run.started')).toHaveLength(2);
  });
});

describe('kill -9 of the stack', () => {
  it('goes on with the run: its host finds the platform again', async () => {
    const { executionId } = await stack.client.createRun(
      scripted([{ say: 'alive' }, { wait: 3_000 }, { complete: 'made it' }]),
    );
    const { seen, ended } = watch(executionId, (event) => says(event, 'alive'));
    await seen;
    await stack.kill();
    stack = await startStackProcess(stack.dataDir);
    const { run, events } = await ended;
    expect(run).toMatchObject({ status: 'completed', attempt: 1, result: { output: 'made it' } });
    expectOneEnding(run, events);
  });

  it('loses no run that was accepted a moment before', async () => {
    const accepted = await Promise.all(
      Array.from({ length: 3 }, (_, n) =>
        stack.client.createRun(
          scripted([{ complete: `run ${n}` }], { retry: { repeatable: true } }),
        ),
      ),
    );
    await stack.kill();
    stack = await startStackProcess(stack.dataDir);
    for (const [n, { executionId }] of accepted.entries()) {
      const { run, events } = await followToEnd(stack, executionId);
      expect(run).toMatchObject({ status: 'completed', result: { output: `run ${n}` } });
      expectOneEnding(run, events);
    }
  });

  it('together with the host ends the run, once the stack is back', async () => {
    const { executionId } = await stack.client.createRun(
      scripted([{ say: 'alive' }, { wait: 'forever' }]),
    );
    const { seen, ended } = watch(executionId, (event) => says(event, 'alive'));
    await seen;
    await stack.kill();
    for (const pid of hostProcesses(executionId)) process.kill(pid, 'SIGKILL');
    stack = await startStackProcess(stack.dataDir);
    const { run, events } = await ended;
    expect(run).toMatchObject({ status: 'failed', error: { code: 'host_lost' } });
    expectOneEnding(run, events);
    await eventually(() => (engineProcesses(executionId).length === 0 ? true : undefined));
  });
});
