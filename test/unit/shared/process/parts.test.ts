import { afterEach, describe, expect, it, vi } from 'vitest';
import { settlesWithin, startDeadline } from '#shared/process/deadline.ts';
import { launchFailure } from '#shared/process/launch-check.ts';
import { exitOfShellCode } from '#shared/process/sandbox/exit-code.ts';
import { ProcessGroupSandbox } from '#shared/process/sandbox/process-group.ts';
import {
  parsePsTable,
  readLinuxProcessTable,
  readPsProcessTable,
} from '#shared/process/sandbox/process-table.ts';
import { chainFailure, limitingChain } from '#shared/process/sandbox/program-chain.ts';
import { killIfAlive } from '#shared/process/sandbox/send-signal.ts';
import { ByteTail } from '#shared/process/stderr-tail.ts';
import {
  CLEAN,
  newMarker,
  prepareRun,
  processesWith,
  ROOMY,
  runToEnd,
  SHELL,
  start,
  textsOf,
} from './support.ts';

const NO_CHAIN = {
  nice: undefined,
  choom: undefined,
  setpriv: undefined,
  prlimit: undefined,
  env: undefined,
};

describe('deadline', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('waits in parts for more than a timer can hold', () => {
    vi.useFakeTimers();
    const reached = vi.fn();
    const monotonic = (): number => Date.now();
    startDeadline(2 ** 31 * 3, reached, monotonic);
    vi.advanceTimersByTime(2 ** 31 * 3 - 1);
    expect(reached).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(reached).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(2 ** 31 * 3);
    expect(reached).toHaveBeenCalledTimes(1);
  });

  it('is reached by the monotonic clock, not by the timer alone', () => {
    vi.useFakeTimers();
    let now = 0;
    const reached = vi.fn();
    startDeadline(100, reached, () => now);
    now = 60;
    vi.advanceTimersByTime(100);
    expect(reached).not.toHaveBeenCalled();
    now = 100;
    vi.advanceTimersByTime(40);
    expect(reached).toHaveBeenCalledTimes(1);
  });

  it('is not reached after it was cancelled, and refuses what is no delay', () => {
    vi.useFakeTimers();
    const reached = vi.fn();
    startDeadline(10, reached).cancel();
    vi.advanceTimersByTime(1_000);
    expect(reached).not.toHaveBeenCalled();
    for (const delay of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      expect(() => startDeadline(delay, reached)).toThrow(RangeError);
    }
  });

  it('tells a promise that settled from one that did not', async () => {
    expect(await settlesWithin(Promise.resolve(), 0)).toBe(true);
    expect(await settlesWithin(Promise.reject(new Error('any')), 1_000)).toBe(true);
    expect(await settlesWithin(new Promise(() => {}), 0)).toBe(false);
  });
});

describe('byte tail', () => {
  it('keeps the last bytes however they come', () => {
    const text = 'abcdefghijklmnopqrstuvwxyz';
    for (const size of [1, 3, 7, 26]) {
      const tail = new ByteTail(10);
      for (let at = 0; at < text.length; at += size)
        tail.push(Buffer.from(text.slice(at, at + size)));
      expect(tail.text()).toBe('qrstuvwxyz');
    }
    const short = new ByteTail(10);
    short.push(Buffer.from('abc'));
    expect(short.text()).toBe('abc');
  });

  it('begins with a whole character', () => {
    const tail = new ByteTail(7);
    tail.push(Buffer.from('\u20ac\u20ac\u20ac'));
    expect(tail.text()).toBe('\u20ac\u20ac');
  });
});

describe('process table', () => {
  it('reads what ps prints on macOS', () => {
    const text = [
      '    1     0     1 Ss    12345 Mon Jun  2 08:00:00 2025',
      '  734     1   734 S+     2048 Mon Jun  2 09:10:11 2025    ',
      '  735   734   734 Z         0 Mon Jun  2 09:10:12 2025',
      'garbage',
      '',
    ].join('\n');
    expect(parsePsTable(text)).toEqual([
      {
        pid: 1,
        parent: 0,
        group: 1,
        session: 0,
        zombie: false,
        startedAt: 'Mon Jun  2 08:00:00 2025',
        memoryBytes: 12_641_280,
      },
      {
        pid: 734,
        parent: 1,
        group: 734,
        session: 0,
        zombie: false,
        startedAt: 'Mon Jun  2 09:10:11 2025',
        memoryBytes: 2_097_152,
      },
      {
        pid: 735,
        parent: 734,
        group: 734,
        session: 0,
        zombie: true,
        startedAt: 'Mon Jun  2 09:10:12 2025',
        memoryBytes: 0,
      },
    ]);
  });

  it.runIf(process.platform === 'linux')('finds this process, as the kernel tells it', async () => {
    const table = await readLinuxProcessTable();
    expect(table.find(({ pid }) => pid === process.pid)).toMatchObject({
      parent: process.ppid,
      zombie: false,
      startedAt: expect.stringMatching(/^\d+$/),
    });
  });
});

describe('process group without procfs', () => {
  const sandbox = new ProcessGroupSandbox({ chain: NO_CHAIN, procfs: false });
  const hasPs = readPsProcessTable().then(
    () => true,
    () => false,
  );

  it('removes a tree that it knows from ps', async ({ skip }) => {
    if (!(await hasPs)) skip('no ps here');
    const marker = newMarker();
    const script = `trap "" TERM; sleep ${marker} & sleep ${marker} & echo ready; wait`;
    const engine = start(await prepareRun(sandbox), [SHELL, '-c', script], { graceMs: 20 });
    await engine.said('ready');
    expect(await engine.process.stop({ reason: 'cancelled' })).toMatchObject({
      forced: true,
      ...CLEAN,
    });
    expect(processesWith(marker)).toEqual([]);
  });

  it('sets the limits that a shell can set', async ({ skip }) => {
    if (!(await hasPs)) skip('no ps here');
    const engine = await runToEnd(
      await prepareRun(sandbox),
      [SHELL, '-c', 'ulimit -n; ulimit -f; ulimit -c'],
      {
        limits: { ...ROOMY, openFiles: 77, fileBytes: 10_000 },
      },
    );
    expect(textsOf(engine.records)).toEqual(['77', '20', '0']);
  });
});

describe('program chain', () => {
  it('asks for no more than the host itself may use', () => {
    const chain = { ...NO_CHAIN, prlimit: '/usr/bin/prlimit' };
    const [program, ...options] = limitingChain(chain, {
      openFiles: Number.MAX_SAFE_INTEGER,
      fileBytes: 1_000,
    });
    expect(program).toBe('/usr/bin/prlimit');
    const openFiles = options.find((option) => option.startsWith('--nofile='))?.split('=')[1];
    expect(Number(openFiles)).toBeLessThan(Number.MAX_SAFE_INTEGER);
    expect(options).toContain('--fsize=1000');
    expect(options.join(' ')).not.toContain('nproc');
  });

  it('recognises the complaint of a link, and nothing that a program says', () => {
    expect(chainFailure(127, 'prlimit: failed to execute /x: No such file\n')).toMatch(
      /^prlimit: /,
    );
    expect(chainFailure(0, 'prlimit: failed to execute /x\n')).toBeUndefined();
    expect(chainFailure(1, 'starting\nprlimit: failed\n')).toBeUndefined();
    expect(chainFailure(127, 'sh: 1: engine: not found\n')).toBeUndefined();
  });
});

describe('small parts', () => {
  it('reads a shell code as the signal it stands for', () => {
    expect(exitOfShellCode(137)).toEqual({ code: null, signal: 'SIGKILL' });
    expect(exitOfShellCode(143)).toEqual({ code: null, signal: 'SIGTERM' });
    expect(exitOfShellCode(3)).toEqual({ code: 3, signal: null });
    expect(exitOfShellCode(255)).toEqual({ code: 255, signal: null });
    expect(exitOfShellCode(null, 'SIGINT')).toEqual({ code: null, signal: 'SIGINT' });
  });

  it('never signals a group, the init or everything', () => {
    for (const pid of [-1, 0, 1, Number.NaN, -process.pid])
      expect(killIfAlive(pid, 'SIGCONT')).toBe(false);
    expect(killIfAlive(process.pid, 'SIGCONT')).toBe(true);
  });

  it('sorts errors of a launch into the codes of the platform', () => {
    const failure = (code: string): string => launchFailure({ code, message: 'm' }, 'x').code;
    expect(failure('E2BIG')).toBe('argument_invalid');
    expect(failure('ERR_INVALID_ARG_VALUE')).toBe('argument_invalid');
    expect(failure('ENOENT')).toBe('engine_not_installed');
    expect(failure('EAGAIN')).toBe('engine_start_failed');
    expect(launchFailure(new Error('no sandbox'), 'cannot start x')).toEqual({
      code: 'engine_start_failed',
      message: 'cannot start x: no sandbox',
    });
  });
});
