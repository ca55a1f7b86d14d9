import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { linuxProcessIds } from '#shared/process/sandbox/process-table.ts';
import { usersOf } from '#shared/process/sandbox/user-claim.ts';
import {
  availableSandboxes,
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

const SANDBOXES = await availableSandboxes();
describe.each(SANDBOXES)('supervision in $kind', ({ kind, sandbox }) => {
  it('HST-1 shows every state in order, with times that only grow', async () => {
    const engine = start(await prepareRun(sandbox), ['polite.mjs']);
    expect(engine.process.state).toBe('start');
    await engine.said('ready');
    expect(engine.process.state).toBe('running');
    expect(engine.process.pid).toBeGreaterThan(1);
    await engine.process.stop({ reason: 'cancelled' });
    expect(engine.states.map(({ state }) => state)).toEqual([
      'start',
      'ready',
      'running',
      'cancel_requested',
      'terminating',
      'exited',
    ]);
    expect(engine.process.history).toEqual(engine.states);
    const elapsed = engine.states.map(({ elapsedMs }) => elapsedMs);
    expect(elapsed).toEqual([...elapsed].sort((a, b) => a - b));
    for (const { at } of engine.states) expect(new Date(at).toISOString()).toBe(at);
  });

  it('HST-4 gives a process its own environment and nothing of the host', async () => {
    const engine = await runToEnd(await prepareRun(sandbox), ['report.mjs', 'a b', '$HOME', ''], {
      env: { GREETING: 'hello', EMPTY: '' },
    });
    const { env, cwd, argv } = JSON.parse(engine.records[0]!.text);
    delete env.PWD;
    delete env.NEXUSDESK_RUN;
    expect({ env, cwd, argv }).toEqual({
      env: { GREETING: 'hello', EMPTY: '' },
      cwd: engine.workdir.work,
      argv: ['a b', '$HOME', ''],
    });
  });

  it('passes exit codes and deaths by signal on', async () => {
    const run = await prepareRun(sandbox);
    const exits = [];
    for (const script of ['exit 0', 'exit 7', 'kill -KILL $$', 'kill -SEGV $$']) {
      const { outcome } = await runToEnd(run, [SHELL, '-c', script]);
      exits.push(outcome.exit);
      expect(outcome).toMatchObject({ cause: 'exited', forced: false, ...CLEAN });
    }
    expect(exits).toEqual([
      { code: 0, signal: null },
      { code: 7, signal: null },
      { code: null, signal: 'SIGKILL' },
      { code: null, signal: 'SIGSEGV' },
    ]);
  });

  it('says that a program is missing, not that it failed', async () => {
    const { outcome } = await runToEnd(await prepareRun(sandbox), ['/nowhere/engine']);
    expect(outcome).toMatchObject({
      cause: 'spawn_failed',
      exit: { code: null, signal: null },
      failure: { code: 'engine_not_installed', errno: 'ENOENT' },
      ...CLEAN,
    });
  });

  it('says that a program could not become one behind its launcher', async () => {
    const run = await prepareRun(sandbox);
    const broken = start(run, [
      SHELL,
      '-c',
      'printf "#!/nowhere/interpreter\\n" > engine; chmod 755 engine',
    ]);
    await broken.process.outcome;
    const { outcome } = await runToEnd(run, [`${run.workdir.work}/engine`]);
    expect(outcome).toMatchObject({
      cause: 'spawn_failed',
      failure: { code: 'engine_start_failed', message: expect.stringContaining('No such file') },
    });
  });

  it('refuses an argument over the system limit with its cause', async () => {
    const { outcome } = await runToEnd(await prepareRun(sandbox), [
      SHELL,
      '-c',
      'true',
      'x'.repeat(3_000_000),
    ]);
    expect(outcome).toMatchObject({
      cause: 'spawn_failed',
      failure: { code: 'argument_invalid', errno: 'E2BIG' },
    });
  });

  it('HST-3 ends a process at its wall clock', async () => {
    const engine = start(await prepareRun(sandbox), ['polite.mjs'], {
      limits: { ...ROOMY, wallClockMs: 1_000 },
    });
    expect(await engine.process.outcome).toMatchObject({ cause: 'timed_out', ...CLEAN });
    expect(engine.states.map(({ state }) => state).slice(-3)).toEqual([
      'timeout',
      'terminating',
      'exited',
    ]);
  });

  it('HST-3 ends a process over its memory', async () => {
    const { outcome } = await runToEnd(await prepareRun(sandbox), ['hog.mjs'], {
      limits: { ...ROOMY, memoryBytes: 200 * 2 ** 20 },
    });
    expect(outcome).toMatchObject({ cause: 'memory_limit', forced: true, ...CLEAN });
  });

  it('HST-3 ends a process over its output, and keeps what came before', async () => {
    const engine = await runToEnd(
      await prepareRun(sandbox),
      [SHELL, '-c', 'while :; do echo 1234567; done'],
      {
        limits: { outputBytes: 80_004, recordBytes: 100 },
      },
    );
    expect(engine.outcome).toMatchObject({
      cause: 'output_limit',
      outputComplete: false,
      ...CLEAN,
    });
    expect(engine.records.length).toBe(10_001);
    expect(engine.records.at(-1)).toMatchObject({ text: '1234', unterminated: true });
    expect(engine.outcome.outputBytes - engine.outcome.droppedBytes).toBe(80_004);
  });

  it('HST-3 counts output that was written faster than it was read', async () => {
    const { outcome } = await runToEnd(
      await prepareRun(sandbox),
      [SHELL, '-c', 'echo 1234567890'],
      {
        limits: { outputBytes: 5, recordBytes: 100 },
      },
    );
    expect(outcome).toMatchObject({ cause: 'output_limit', outputBytes: 11, droppedBytes: 6 });
  });

  it('HST-3 limits the size of a file', async () => {
    const script = 'trap "" XFSZ; dd if=/dev/zero of=big bs=1024 count=100 2>/dev/null; wc -c <big';
    const engine = await runToEnd(await prepareRun(sandbox), [SHELL, '-c', script], {
      limits: { ...ROOMY, fileBytes: 10_240 },
    });
    expect(textsOf(engine.records)).toEqual(['10240']);
  });

  it('HST-3 limits open files', async () => {
    const engine = await runToEnd(await prepareRun(sandbox), [SHELL, '-c', 'ulimit -n'], {
      limits: { ...ROOMY, openFiles: 123 },
    });
    expect(textsOf(engine.records)).toEqual(['123']);
  });

  it.runIf(sandbox.isolates.processes)('HST-3 limits the processes of the run alone', async () => {
    const marker = newMarker();
    const script = `i=0; while [ $i -lt 30 ]; do sleep ${marker} & i=$((i+1)); done; echo all`;
    const options = { limits: { ...ROOMY, processes: 12 } };
    const run = await prepareRun(sandbox);
    const bomb = await runToEnd(run, [SHELL, '-c', script], options);
    expect(textsOf(bomb.records)).not.toContain('all');
    expect(bomb.outcome).toMatchObject(CLEAN);
    expect(processesWith(marker)).toEqual([]);
    // The dead count too until the system's init, not ours, has reaped them.
    const { uid } = statSync(run.workdir.path);
    if (uid !== process.getuid?.()) await vi.waitUntil(() => !hasProcesses(uid), 10_000);
    const next = await runToEnd(run, [SHELL, '-c', '(echo child) & wait'], options);
    expect(textsOf(next.records)).toEqual(['child']);
  });

  it('B46 does not block an engine that fills stderr first', async () => {
    const engine = await runToEnd(await prepareRun(sandbox), ['stderr-first.mjs']);
    expect(engine.outcome).toMatchObject({
      cause: 'exited',
      exit: { code: 0 },
      outputComplete: true,
    });
    expect(textsOf(engine.records)).toEqual(['{"type":"turn.completed"}']);
    expect(engine.outcome.stderrBytes).toBe(5 * 2 ** 20 + 11);
    expect(engine.outcome.stderrTail).toHaveLength(65_536);
    expect(engine.outcome.stderrTail.endsWith('e\nlast words\n')).toBe(true);
    expect(engine.stderrLines.length).toBe(5 * 1_024 + 1);
  });

  it('B47 joins a character that was written in two pieces', async () => {
    const pieces = ['7b2274223a22636166c3', 'a9e298', '95227d0a'];
    const engine = await runToEnd(await prepareRun(sandbox), ['pieces.mjs', ...pieces]);
    expect(textsOf(engine.records)).toEqual(['{"t":"caf\u00e9\u2615"}']);
  });

  it('B01 keeps a record with Unicode separators in one piece', async () => {
    const line = '{"text":"a\u2028b\u2029c\u0085d"}\n';
    const engine = await runToEnd(await prepareRun(sandbox), [
      'pieces.mjs',
      Buffer.from(line).toString('hex'),
    ]);
    expect(textsOf(engine.records)).toEqual([line.slice(0, -1)]);
  });

  it('B13 gives the last record although its newline is missing', async () => {
    const engine = await runToEnd(await prepareRun(sandbox), [
      SHELL,
      '-c',
      'printf \'{"a":1}\\n{"type":"turn.comp\'',
    ]);
    expect(engine.records).toMatchObject([
      { text: '{"a":1}', unterminated: false },
      { text: '{"type":"turn.comp', unterminated: true },
    ]);
    expect(engine.outcome).toMatchObject({ exit: { code: 0 }, outputComplete: true });
  });

  it('reads 200 MB without a newline in bounded memory', async () => {
    const run = await prepareRun(sandbox);
    // Once for everything that is allocated anyway.
    await runToEnd(run, ['flood.mjs', '5', 'line']);
    const before = process.memoryUsage().rss;
    let peak = 0;
    const timer = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
    }, 5);
    const engine = await runToEnd(run, ['flood.mjs', '200', 'line'], {
      limits: { ...ROOMY, recordBytes: 100_000 },
    });
    clearInterval(timer);
    const written = 201 * 3 * Math.floor(2 ** 20 / 3);
    expect(engine.records).toMatchObject([
      { invalidUtf8: false, truncatedBytes: written - 99_999 },
      { text: 'next', truncatedBytes: 0 },
    ]);
    expect(engine.outcome.droppedBytes).toBe(written - 99_999);
    expect(peak - before).toBeLessThan(100 * 2 ** 20);
  });

  it('talks with a process that stays open, and closes its input', async () => {
    const engine = start(await prepareRun(sandbox), ['echo.mjs'], { stdin: 'open' });
    expect(await engine.process.write('one\n')).toBe(true);
    await engine.said('echo one');
    expect(await engine.process.write(Buffer.from('two\n'))).toBe(true);
    await engine.said('echo two');
    engine.process.endInput();
    expect(await engine.process.outcome).toMatchObject({ cause: 'exited', exit: { code: 0 } });
    expect(textsOf(engine.records).at(-1)).toBe('end of input');
    expect(await engine.process.write('three\n')).toBe(false);
  });

  it('gives a text as input, whole and closed, or nothing', async () => {
    const run = await prepareRun(sandbox);
    const text = `${'x'.repeat(300_000)}`;
    const counted = await runToEnd(run, [SHELL, '-c', 'wc -c'], { stdin: { text } });
    expect(textsOf(counted.records).map(Number)).toEqual([300_000]);
    const closed = await runToEnd(run, [SHELL, '-c', 'wc -c'], { stdin: 'closed' });
    expect(textsOf(closed.records).map(Number)).toEqual([0]);
  });

  it('masks stdout, stderr and their edges before they are cut', async () => {
    const secret = `sk-test-${randomBytes(12).toString('hex')}`;
    const half = secret.length / 2;
    const script = `printf 'a ${secret.slice(0, half)}'; printf '${secret.slice(half)} b\\n'; echo ${secret} >&2; printf ${secret.slice(0, 20)}`;
    const engine = await runToEnd(await prepareRun(sandbox), [SHELL, '-c', script], {
      secrets: [secret],
      limits: { outputBytes: 1_000, recordBytes: 10 },
    });
    expect(textsOf(engine.records)).toEqual(['a *** b', '***']);
    expect(engine.stderrLines).toEqual(['***']);
    expect(engine.outcome.stderrTail).toBe('***\n');
  });

  it.runIf(kind === 'bubblewrap')(
    'tells a launcher that failed from a program that failed',
    async () => {
      const run = await prepareRun(sandbox, { readOnly: ['/nowhere/at/all'] });
      const { outcome } = await runToEnd(run, [SHELL, '-c', 'true']);
      expect(outcome).toMatchObject({
        cause: 'spawn_failed',
        failure: { code: 'engine_start_failed', message: expect.stringMatching(/^bwrap: /) },
      });
    },
  );
});

const hasProcesses = (uid: number): boolean =>
  linuxProcessIds().some((pid) => usersOf(pid)?.ids.includes(uid));
