import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { holdProcess, readProcessEnd } from '#local/aws/ecs/held-process.ts';
import {
  descendantsOf,
  identifyProcess,
  isAlive,
  signalProcess,
} from '#local/aws/ecs/process-identity.ts';
import { temporaryFolder, untilGone } from './ecs-fixture.ts';

const hold = (dir: string, script: string) =>
  holdProcess({
    command: ['/bin/sh', '-c', script],
    cwd: dir,
    env: {},
    stdoutFile: join(dir, 'stdout'),
    stderrFile: join(dir, 'stderr'),
    exitFile: join(dir, 'exit'),
  });

describe('a held process', () => {
  it('runs nothing until it is released, and then becomes the command', async () => {
    const dir = temporaryFolder();
    const held = await hold(dir, 'echo $$; exit 5');
    expect(isAlive(held.process.main)).toBe(true);
    expect(readFileSync(join(dir, 'stdout'), 'utf8')).toBe('');
    held.release();
    await held.ended;
    expect(readFileSync(join(dir, 'stdout'), 'utf8')).toBe(`${held.process.main.pid}\n`);
    expect(readProcessEnd(held.process)).toEqual({ kind: 'exited', exitCode: 5 });
  });

  it('never starts when it is abandoned', async () => {
    const dir = temporaryFolder();
    const held = await hold(dir, 'echo ran');
    held.abandon();
    await held.ended;
    expect(readProcessEnd(held.process)).toEqual({ kind: 'never_started' });
    expect(readFileSync(join(dir, 'stdout'), 'utf8')).toBe('');
  });

  it('never starts when its stack is killed before it was released', async () => {
    const dir = temporaryFolder();
    const program = fileURLToPath(new URL('./hold-process.ts', import.meta.url));
    const stack = spawn(process.execPath, [program, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(createInterface({ input: stack.stdout }), 'line');
    const held = JSON.parse(String(line));
    stack.kill('SIGKILL');
    await untilGone(held.main.pid);
    await untilGone(held.keeper.pid);
    expect(readProcessEnd(held)).toEqual({ kind: 'never_started' });
    expect(readFileSync(join(dir, 'stdout'), 'utf8')).toBe('');
  });

  it('keeps the exit code although its group is sent SIGTERM', async () => {
    const dir = temporaryFolder();
    const held = await hold(dir, 'trap "exit 9" TERM; kill -TERM 0; exit 1');
    held.release();
    await held.ended;
    expect(readProcessEnd(held.process)).toEqual({ kind: 'exited', exitCode: 9 });
  });
});

describe('the identity of a process', () => {
  it('is not that of another process with the same pid', async () => {
    const own = identifyProcess(process.pid);
    if (!own) throw new Error('we live');
    expect(isAlive(own)).toBe(true);
    const stranger = { ...own, born: 'earlier' };
    expect(isAlive(stranger)).toBe(false);
    // Would end this test run if the pid alone counted.
    signalProcess(stranger, 'SIGKILL');
    expect(descendantsOf([stranger])).toEqual([]);
  });

  it('finds what is below it at any depth', async () => {
    const dir = temporaryFolder();
    const held = await hold(dir, 'sh -c "sleep 1000; true"; true');
    held.release();
    const below = await expect
      .poll(() => descendantsOf([held.process.main]), { timeout: 10_000 })
      .toHaveLength(2)
      .then(() => descendantsOf([held.process.main]));
    for (const each of [...below, held.process.main]) signalProcess(each, 'SIGKILL');
    await held.ended;
    // A signal is delivered when the kernel comes to it, in no order between processes.
    await expect.poll(() => below.filter(isAlive)).toEqual([]);
  });
});
