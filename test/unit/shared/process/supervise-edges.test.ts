import { describe, expect, it } from 'vitest';
import { PROCESS_TRANSITIONS } from '#shared/process/index.ts';
import { ProcessLifecycle } from '#shared/process/process-lifecycle.ts';
import {
  availableSandboxes,
  CLEAN,
  NODE,
  newMarker,
  prepareRun,
  processesWith,
  ROOMY,
  runToEnd,
  SHELL,
  type StartOptions,
  start,
} from './support.ts';

/** For what does not depend on the sandbox. */
const { sandbox: anySandbox } = (await availableSandboxes()).at(-1)!;

describe('supervision', () => {
  it('refuses NUL bytes with the position, not the value', async () => {
    const run = await prepareRun(anySandbox);
    const cases: (StartOptions & { argv: string[]; message: string })[] = [
      { argv: [SHELL, '-c', 'secret\0value'], message: 'argument 2 contains a NUL byte' },
      {
        argv: [SHELL],
        env: { KEY: 'secret\0' },
        message: 'environment variable KEY contains a NUL byte',
      },
      { argv: [SHELL], env: { 'A=B': '' }, message: 'an environment variable has an invalid name' },
      { argv: [SHELL], cwd: '/tmp/\0', message: 'the working directory contains a NUL byte' },
      { argv: ['sh'], message: 'the program is not an absolute path' },
    ];
    for (const { argv, message, ...options } of cases) {
      const { outcome } = await runToEnd(run, argv, options);
      expect(outcome).toMatchObject({
        cause: 'spawn_failed',
        failure: { code: 'argument_invalid', message },
      });
    }
  });

  it('says why a file that is there cannot be run', async () => {
    const run = await prepareRun(anySandbox);
    const cases = [
      { argv: ['/etc/passwd'], failure: { code: 'engine_start_failed', errno: 'EACCES' } },
      { argv: ['/etc'], failure: { code: 'engine_start_failed', errno: 'EACCES' } },
      { argv: [SHELL], cwd: '/nowhere', failure: { code: 'engine_start_failed', errno: 'ENOENT' } },
    ];
    for (const { argv, failure, ...options } of cases) {
      expect((await runToEnd(run, argv, options)).outcome).toMatchObject({
        cause: 'spawn_failed',
        failure,
      });
    }
  });

  it('refuses limits that are no numbers', async () => {
    const run = await prepareRun(anySandbox);
    const wrong = [
      { graceMs: Number.NaN },
      { graceMs: -1 },
      { limits: { ...ROOMY, wallClockMs: Number.POSITIVE_INFINITY } },
      { limits: { ...ROOMY, outputBytes: 0 } },
      { limits: { ...ROOMY, recordBytes: 1.5 } },
    ];
    for (const options of wrong) expect(() => start(run, [SHELL], options)).toThrow(RangeError);
  });

  it('waits for a wall clock beyond the longest timer', async () => {
    const run = await prepareRun(anySandbox);
    const { outcome } = await runToEnd(run, [SHELL, '-c', 'echo done'], {
      limits: { ...ROOMY, wallClockMs: 2 ** 40 },
    });
    expect(outcome).toMatchObject({ cause: 'exited', exit: { code: 0 } });
  });

  it('lets a fast writer wait for a slow observer, in bounded memory', async () => {
    const run = await prepareRun(anySandbox);
    const script = `yes '${'x'.repeat(1_000)}' | head -n 120000`;
    const before = process.memoryUsage().rss;
    let peak = 0;
    let seen = 0;
    const { outcome } = await runToEnd(run, [SHELL, '-c', script], {
      observers: {
        onRecord: async () => {
          seen += 1;
          if (seen % 100 === 0) peak = Math.max(peak, process.memoryUsage().rss);
          if (seen % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
        },
      },
    });
    expect(outcome).toMatchObject({
      exit: { code: 0 },
      outputComplete: true,
      outputBytes: 120_120_000,
    });
    expect(seen).toBe(120_000);
    expect(peak - before).toBeLessThan(100 * 2 ** 20);
  });

  it('gives up on an observer that never answers, and calls it no more', async () => {
    const called = Promise.withResolvers<void>();
    let calls = 0;
    const engine = start(
      await prepareRun(anySandbox),
      [SHELL, '-c', 'echo one; echo two; exec sleep 600'],
      {
        drainMs: 100,
        observers: {
          onRecord: () => {
            calls += 1;
            called.resolve();
            return new Promise(() => {});
          },
        },
      },
    );
    await called.promise;
    expect(await engine.process.stop({ reason: 'cancelled' })).toMatchObject({
      cause: 'cancelled',
      outputComplete: false,
      ...CLEAN,
    });
    expect(calls).toBe(1);
  });

  it('removes the tree and rejects when an observer fails', async () => {
    const marker = newMarker();
    for (const observers of [
      { onRecord: () => Promise.reject(new Error('disk full')) },
      {
        onStderrLine: () => {
          throw new Error('disk full');
        },
      },
      {
        onState: ({ state }: { state: string }) => {
          if (state === 'running') throw new Error('disk full');
        },
      },
    ]) {
      const script = `echo one; echo one >&2; exec sleep ${marker}`;
      const engine = start(await prepareRun(anySandbox), [SHELL, '-c', script], { observers });
      await expect(engine.process.outcome).rejects.toThrow('disk full');
      expect(processesWith(marker)).toEqual([]);
      expect(engine.process.state).toBe('exited');
    }
  });

  it('survives an engine that does not read its input', async () => {
    const { outcome } = await runToEnd(
      await prepareRun(anySandbox),
      [SHELL, '-c', 'exec <&-; echo fine'],
      {
        stdin: { text: 'x'.repeat(1_000_000) },
      },
    );
    expect(outcome).toMatchObject({ cause: 'exited', exit: { code: 0 } });
  });

  it('keeps the reason of the host, whatever it is', async () => {
    const engine = start(await prepareRun(anySandbox), [
      NODE,
      '-e',
      'setInterval(() => {}, 1e6); console.log("ready")',
    ]);
    await engine.said('ready');
    expect(await engine.process.stop({ reason: 'capability_violation', graceMs: 0 })).toMatchObject(
      {
        cause: 'capability_violation',
        forced: true,
      },
    );
    expect(engine.states.map(({ state }) => state)).toEqual([
      'start',
      'ready',
      'running',
      'terminating',
      'exited',
    ]);
  });

  it('does not start what was cancelled before', async () => {
    const marker = newMarker();
    const engine = start(await prepareRun(anySandbox), [SHELL, '-c', `exec sleep ${marker}`]);
    const outcome = await engine.process.stop({ reason: 'cancelled' });
    expect(outcome).toMatchObject({
      cause: 'cancelled',
      exit: { code: null, signal: null },
      forced: false,
      ...CLEAN,
    });
    expect(engine.states.map(({ state }) => state)).toEqual([
      'start',
      'cancel_requested',
      'terminating',
      'exited',
    ]);
  });

  it('HST-1 refuses a step that the table does not have', () => {
    const time = { now: () => 0, monotonic: () => 0 };
    for (const [from, allowed] of Object.entries(PROCESS_TRANSITIONS)) {
      for (const to of Object.keys(PROCESS_TRANSITIONS) as (keyof typeof PROCESS_TRANSITIONS)[]) {
        const lifecycle = new ProcessLifecycle(time, () => {});
        for (const step of PATHS[from as keyof typeof PROCESS_TRANSITIONS]) lifecycle.to(step);
        expect(lifecycle.state).toBe(from);
        if ((allowed as readonly string[]).includes(to)) {
          lifecycle.to(to);
          expect(lifecycle.state).toBe(to);
        } else {
          expect(() => lifecycle.to(to)).toThrow(`from ${from} to ${to}`);
          expect(lifecycle.state).toBe(from);
        }
      }
    }
  });
});

const PATHS = {
  start: [],
  ready: ['ready'],
  running: ['ready', 'running'],
  cancel_requested: ['cancel_requested'],
  timeout: ['ready', 'timeout'],
  terminating: ['terminating'],
  exited: ['terminating', 'exited'],
} as const;
