import { describe, expect, it, vi } from 'vitest';
import {
  availableSandboxes,
  CLEAN,
  newMarker,
  prepareRun,
  processesWith,
  runToEnd,
  SHELL,
  start,
  textsOf,
} from './support.ts';

const SANDBOXES = await availableSandboxes();

describe.each(SANDBOXES)('tree removal in $kind', ({ kind, sandbox }) => {
  it('HST-2 lets a polite engine end by itself', async () => {
    const engine = start(await prepareRun(sandbox), ['polite.mjs']);
    await engine.said('ready');
    const outcome = await engine.process.stop({ reason: 'cancelled' });
    expect(outcome).toMatchObject({
      cause: 'cancelled',
      exit: { code: 3, signal: null },
      forced: false,
      signals: expect.arrayContaining(['SIGTERM']),
      // The init of a namespace may still be on its way out when it is looked for.
      ...(kind === 'bubblewrap' ? {} : { signals: ['SIGTERM'], processesKilled: 0 }),
      outputComplete: true,
      ...CLEAN,
    });
    expect(textsOf(engine.records)).toEqual(['ready', 'bye SIGTERM']);
  });

  it('HST-2 interrupts with the signal the engine understands', async () => {
    const engine = start(await prepareRun(sandbox), ['polite.mjs'], { interruptSignal: 'SIGINT' });
    await engine.said('ready');
    await engine.process.stop({ reason: 'cancelled' });
    expect(textsOf(engine.records)).toContain('bye SIGINT');
  });

  it('HST-2 kills an engine that ignores the signal after its grace', async () => {
    const engine = start(await prepareRun(sandbox), ['stubborn.mjs'], { graceMs: 50 });
    await engine.said('ready');
    expect(await engine.process.stop({ reason: 'cancelled' })).toMatchObject({
      cause: 'cancelled',
      exit: { code: null, signal: 'SIGKILL' },
      forced: true,
      signals: ['SIGTERM', 'SIGKILL'],
      ...CLEAN,
    });
  });

  it('HST-5 tells how many processes there are and what they hold, while there are any', async () => {
    const engine = start(await prepareRun(sandbox), ['polite.mjs']);
    expect(await engine.process.measure()).toBeUndefined();
    await engine.said('ready');
    const { processes = 0, memoryBytes = 0 } = (await engine.process.measure()) ?? {};
    expect(processes).toBeGreaterThanOrEqual(1);
    // A Node.js process holds some megabytes of its own.
    expect(memoryBytes).toBeGreaterThan(2 ** 20);
    await engine.process.stop({ reason: 'cancelled' });
    expect(await engine.process.measure()).toBeUndefined();
  });

  it('HST-2 removes daemons in sessions of their own that hold stdout', async () => {
    const marker = newMarker();
    const engine = start(await prepareRun(sandbox), ['daemons.mjs', marker, 'keep', 'stay']);
    await engine.said('ready');
    await vi.waitUntil(() => processesWith(`sleep\0${marker}`).length === 3);
    const outcome = await engine.process.stop({ reason: 'cancelled' });
    expect(outcome).toMatchObject({
      cause: 'cancelled',
      exit: { code: 0 },
      forced: false,
      ...CLEAN,
    });
    expect(processesWith(marker)).toEqual([]);
  });

  it.runIf(sandbox.isolates.processes)(
    'HST-2 removes daemons with an empty environment',
    async () => {
      const marker = newMarker();
      const engine = start(await prepareRun(sandbox), ['daemons.mjs', marker, 'empty', 'stay']);
      await engine.said('ready');
      await vi.waitUntil(() => processesWith(`sleep\0${marker}`).length === 3);
      expect(await engine.process.stop({ reason: 'cancelled' })).toMatchObject(CLEAN);
      expect(processesWith(marker)).toEqual([]);
    },
  );

  it('HST-2 removes what an engine leaves behind after a clean exit', async () => {
    const marker = newMarker();
    const { outcome } = await runToEnd(await prepareRun(sandbox), [
      'daemons.mjs',
      marker,
      'keep',
      'leave',
    ]);
    expect(outcome).toMatchObject({ cause: 'exited', exit: { code: 0 }, forced: false, ...CLEAN });
    expect(processesWith(marker)).toEqual([]);
  });

  it('HST-2 removes processes that start each other again', async () => {
    const marker = newMarker();
    const engine = start(await prepareRun(sandbox), ['respawner.mjs', marker], { graceMs: 50 });
    await engine.said('ready');
    expect(await engine.process.stop({ reason: 'cancelled' })).toMatchObject({
      forced: true,
      ...CLEAN,
    });
    expect(processesWith(marker)).toEqual([]);
  });

  it('B37 ends when the engine exits, not when a grandchild lets go of stdout', async () => {
    const marker = newMarker();
    const script = `sleep ${marker} & printf '%s\\n' '{"type":"turn.completed"}'`;
    const engine = await runToEnd(await prepareRun(sandbox), [SHELL, '-c', script]);
    expect(engine.outcome).toMatchObject({ cause: 'exited', exit: { code: 0 }, ...CLEAN });
    expect(textsOf(engine.records)).toEqual(['{"type":"turn.completed"}']);
    expect(processesWith(marker)).toEqual([]);
  });

  it('B38 settles a cancel although a holder of stdout left the group', async () => {
    const marker = newMarker();
    const script = `setsid sh -c "trap : TERM; echo ready; sleep ${marker}" & wait`;
    const engine = start(await prepareRun(sandbox), [SHELL, '-c', script], { graceMs: 100 });
    await engine.said('ready');
    expect(await engine.process.stop({ reason: 'cancelled' })).toMatchObject({
      cause: 'cancelled',
      ...CLEAN,
    });
    expect(processesWith(marker)).toEqual([]);
  });

  it('B40 leaves no busy process after a timeout', async () => {
    const marker = newMarker();
    const script = `sh -c 'echo ready; while :; do :; done' ${marker} & wait`;
    const engine = start(await prepareRun(sandbox), [SHELL, '-c', script]);
    await engine.said('ready');
    expect(processesWith(marker)).not.toEqual([]);
    const outcome = await engine.process.stop({ reason: 'timed_out' });
    expect(outcome).toMatchObject({ cause: 'timed_out', ...CLEAN });
    expect(processesWith(marker)).toEqual([]);
    expect(engine.states.map(({ state }) => state)).toContain('timeout');
  });

  it('B41 a nested engine in its own session says nothing after the outcome', async () => {
    const marker = newMarker();
    const nested = `trap "" TERM; while :; do echo event; done # ${marker}`;
    const script = `setsid sh -c '${nested}' & echo ready; wait`;
    const engine = start(await prepareRun(sandbox), [SHELL, '-c', script], { graceMs: 100 });
    await engine.said('event');
    await engine.process.stop({ reason: 'cancelled' });
    const told = engine.records.length;
    expect(processesWith(marker)).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(engine.records.length).toBe(told);
  });

  it('HST-2 answers several stops with one outcome, the first reason', async () => {
    const engine = start(await prepareRun(sandbox), ['stubborn.mjs'], { graceMs: 50 });
    await engine.said('ready');
    const [first, second] = await Promise.all([
      engine.process.stop({ reason: 'timed_out' }),
      engine.process.stop({ reason: 'cancelled' }),
    ]);
    expect(second).toBe(first);
    expect(first.cause).toBe('timed_out');
    expect(await engine.process.stop({ reason: 'cancelled' })).toBe(first);
  });

  it('HST-2 survives a stop at every moment of the launch', async () => {
    for (const turns of [0, 1, 3, 10, 30, 100]) {
      const marker = newMarker();
      const engine = start(await prepareRun(sandbox), [SHELL, '-c', `exec sleep ${marker}`]);
      for (let turn = 0; turn < turns; turn += 1)
        await new Promise((resolve) => setImmediate(resolve));
      expect(await engine.process.stop({ reason: 'cancelled' })).toMatchObject({
        cause: 'cancelled',
        ...CLEAN,
      });
      expect(processesWith(marker)).toEqual([]);
      expect(engine.process.state).toBe('exited');
    }
  });

  it.runIf(kind === 'bubblewrap')('B44 reaps 1,000 orphans with an init of its own', async () => {
    const engine = await runToEnd(await prepareRun(sandbox), ['orphans.sh']);
    expect(textsOf(engine.records)).toEqual(['orphans 1000 zombies 0']);
    expect(engine.outcome).toMatchObject({ exit: { code: 0 }, ...CLEAN });
  });
});
