import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { type ScheduleSourceOptions, startScheduleSource } from '#local/lambda/index.ts';
import { ScriptedInvoker } from './scripted-invoker.ts';

const HOUR_MS = 3_600_000;

function start(
  options: Pick<ScheduleSourceOptions, 'invoker' | 'everyMs'> & Partial<ScheduleSourceOptions>,
) {
  const source = startScheduleSource({
    name: 'sweep-due-runs',
    state: openStateDatabase(),
    region: 'us-east-1',
    accountId: '000000000000',
    retryDelayMs: () => 0,
    ...options,
  });
  onTestFinished(() => source.stop());
  return source;
}

/** As after a stack that ran long ago. */
async function stateAfterRun(atMs: number) {
  const state = openStateDatabase();
  await start({ invoker: new ScriptedInvoker(() => {}), everyMs: HOUR_MS, state }).stop();
  state.prepare('INSERT INTO lambda_schedules VALUES (?, ?)').run('sweep-due-runs', atMs);
  return state;
}

describe('a schedule', () => {
  it('invokes again and again with the event of EventBridge Scheduler', async () => {
    const invoker = new ScriptedInvoker(() => {});
    start({ invoker, everyMs: 1 });
    await vi.waitFor(() => expect(invoker.events.length).toBeGreaterThan(2));
    expect(invoker.events[0]).toEqual({
      version: '0',
      id: expect.any(String),
      'detail-type': 'Scheduled Event',
      source: 'aws.scheduler',
      account: '000000000000',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      region: 'us-east-1',
      resources: ['arn:aws:scheduler:us-east-1:000000000000:schedule/default/sweep-due-runs'],
      detail: '{}',
    });
  });

  it('never runs twice at once, however slow a run is', async () => {
    let running = 0;
    let most = 0;
    const invoker = new ScriptedInvoker(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
    });
    start({ invoker, everyMs: 1 });
    await vi.waitFor(() => expect(invoker.events.length).toBeGreaterThan(4));
    expect(most).toBe(1);
  });

  it('makes up for any number of missed runs with one', async () => {
    const longAgo = Date.now() - 10 * HOUR_MS;
    const invoker = new ScriptedInvoker(() => {});
    const source = start({ invoker, everyMs: HOUR_MS, state: await stateAfterRun(longAgo) });
    await vi.waitFor(() => expect(invoker.events).toHaveLength(1));
    expect(source.nextRunAt()).toBeGreaterThan(Date.now() + HOUR_MS / 2);
  });

  it('keeps its pace across a restart', async () => {
    const before = Date.now() - HOUR_MS / 2;
    const invoker = new ScriptedInvoker(() => {});
    const source = start({ invoker, everyMs: HOUR_MS, state: await stateAfterRun(before) });
    expect(source.nextRunAt()).toBe(before + HOUR_MS);
    expect(invoker.events).toEqual([]);
  });

  it('goes on after a run that failed for good', async () => {
    const invoker = new ScriptedInvoker(() => {
      throw new Error('broken');
    });
    start({ invoker, everyMs: 1, maxRetries: 1 });
    await vi.waitFor(() => expect(invoker.events.length).toBeGreaterThan(3));
    expect(invoker.events.length).toBeGreaterThan(3);
  });

  it('waits for the run under way when it is stopped', async () => {
    const gate = Promise.withResolvers<void>();
    let ended = false;
    const invoker = new ScriptedInvoker(async () => {
      await gate.promise;
      ended = true;
    });
    const source = start({ invoker, everyMs: 1 });
    await vi.waitFor(() => expect(invoker.events).toHaveLength(1));
    const stopped = source.stop();
    gate.resolve();
    await stopped;
    expect(ended).toBe(true);
  });
});
