import { chmod, mkdir, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createPrivateWorkdir, removeTree, SandboxError } from '#shared/process/index.ts';
import { findProgram } from '#shared/process/sandbox/program-chain.ts';
import { runCommand } from '#shared/process/sandbox/run-command.ts';
import {
  availableSandboxes,
  CLEAN,
  NODE,
  newMarker,
  prepareRun,
  processesWith,
  runToEnd,
  SHELL,
  textsOf,
} from './support.ts';

const SANDBOXES = await availableSandboxes();
const STRONG = SANDBOXES.filter(({ sandbox }) => sandbox.isolates.filesystem);

/** A folder of the platform's that everybody may pass through, with a file that everybody may read. */
async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nexusdesk-open-'));
  onTestFinished(() => removeTree(folder));
  await chmod(folder, 0o755);
  await writeFile(join(folder, 'file'), 'content\n');
  await chmod(join(folder, 'file'), 0o644);
  return folder;
}

describe.each(SANDBOXES)('sandbox $kind', ({ kind, sandbox }) => {
  it('HST-6 says what it isolates, and notes what it does not', async () => {
    const { prepared } = await prepareRun(sandbox);
    expect(sandbox.kind).toBe(kind);
    expect(prepared.isolates).toEqual(sandbox.isolates);
    expect(sandbox.isolates.network).toBe(false);
    expect(prepared.notes.length > 0).toBe(kind === 'process_group');
    await prepared.release();
  });

  it('gives a private home, a private temporary folder and a working directory, all writable', async () => {
    const run = await prepareRun(sandbox);
    const script =
      'for d in "$HOME" "$TMPDIR" .; do echo kept > "$d/file"; done; cat "$HOME/file" ./file';
    const engine = await runToEnd(run, [SHELL, '-c', script]);
    expect(textsOf(engine.records)).toEqual(['kept', 'kept']);
    for (const folder of [run.workdir.home, run.workdir.tmp, run.workdir.work]) {
      expect(await readFile(join(folder, 'file'), 'utf8')).toBe('kept\n');
    }
  });

  it('shows extra folders read-only and writable as asked', async () => {
    const [shown, shared] = [await openFolder(), await openFolder()];
    const run = await prepareRun(sandbox, { readOnly: [shown], writable: [shared] });
    const script = `cat ${shown}/file; echo more >> ${shared}/file && cat ${shared}/file`;
    const engine = await runToEnd(run, [SHELL, '-c', script]);
    expect(textsOf(engine.records)).toEqual(['content', 'content', 'more']);
    expect(await readFile(join(shared, 'file'), 'utf8')).toBe('content\nmore\n');
  });

  it('gives way to the host: lower priority, no core files, no new rights', async () => {
    const script = 'nice; ulimit -c; grep NoNewPrivs /proc/self/status | tr "\\t" " "';
    const engine = await runToEnd(await prepareRun(sandbox), [SHELL, '-c', script]);
    expect(textsOf(engine.records)).toEqual(['5', '0', 'NoNewPrivs: 1']);
  });

  it('runs one process after another, and can be released and made again', async () => {
    const run = await prepareRun(sandbox);
    for (const word of ['one', 'two']) {
      const engine = await runToEnd(run, [SHELL, '-c', `echo ${word}`]);
      expect(textsOf(engine.records)).toEqual([word]);
    }
  });
});

describe.each(STRONG)('isolation by $kind', ({ kind, sandbox }) => {
  it('HST-4 keeps a run from the files of another run', async () => {
    const [mine, other] = [await prepareRun(sandbox), await prepareRun(sandbox)];
    await runToEnd(other, [SHELL, '-c', 'echo private > file; chmod 644 file; chmod 755 .']);
    const theirs = join(other.workdir.work, 'file');
    const engine = await runToEnd(mine, [
      SHELL,
      '-c',
      `cat ${theirs} || ls ${other.workdir.path} || echo refused`,
    ]);
    expect(textsOf(engine.records)).toEqual(['refused']);
    expect(await readFile(theirs, 'utf8')).toBe('private\n');
  });

  it('HST-4 keeps a run from the processes and the environment of the host', async () => {
    const script = `cat /proc/${process.ppid}/environ || kill -0 ${process.pid} || echo refused`;
    const engine = await runToEnd(await prepareRun(sandbox), [SHELL, '-c', script]);
    expect(textsOf(engine.records)).toEqual(['refused']);
  });

  it('HST-4 runs as an unprivileged user without capabilities', async () => {
    const script = 'id -u; grep -E "Cap(Inh|Prm|Eff|Amb)" /proc/self/status | tr -d "\\t"';
    const engine = await runToEnd(await prepareRun(sandbox), [SHELL, '-c', script]);
    const [uid, ...capabilities] = textsOf(engine.records);
    expect(Number(uid)).toBeGreaterThan(0);
    expect(new Set(capabilities.map((line) => line.split(':')[1]))).toEqual(
      new Set(['0000000000000000']),
    );
  });

  it('HST-4 does not write outside its own folders', async () => {
    const shown = await openFolder();
    const run = await prepareRun(sandbox, { readOnly: [shown] });
    const script = `for f in /file /usr/file /etc/file /dev/file ${shown}/file ${run.programs}/file; do echo x > $f && echo "wrote $f"; done; true`;
    const engine = await runToEnd(run, [SHELL, '-c', script]);
    expect(engine.outcome).toMatchObject({ exit: { code: 0 }, ...CLEAN });
    expect(textsOf(engine.records)).toEqual([]);
  });

  it('never shows a hidden path: it is covered, or the run is refused', async () => {
    const shown = await openFolder();
    await mkdir(join(shown, 'inner'));
    await writeFile(join(shown, 'inner/secret'), 'secret\n');
    const hidden = [join(shown, 'inner'), join(shown, 'file')];
    const prepared = prepareRun(sandbox, { readOnly: [shown], hidden });
    if (kind === 'uid') return expect(prepared).rejects.toThrow(SandboxError);
    const script = `cat ${shown}/inner/secret ${shown}/file; ls -A ${shown}/inner; echo x > ${shown}/inner/x; echo end`;
    const engine = await runToEnd(await prepared, [SHELL, '-c', script]);
    expect(textsOf(engine.records)).toEqual(['end']);
  });

  it('accepts a hidden path that the run cannot reach anyway', async () => {
    const closed = await openFolder();
    await chmod(closed, 0o700);
    const run = await prepareRun(sandbox, { hidden: [closed, '/nowhere'] });
    const engine = await runToEnd(run, [SHELL, '-c', `cat ${closed}/file || echo refused`]);
    expect(textsOf(engine.records)).toEqual(['refused']);
  });

  it('closes the files of a finished run to the next one', async () => {
    const run = await prepareRun(sandbox);
    await runToEnd(run, [SHELL, '-c', 'echo kept > file']);
    await run.prepared.release();
    const { uid, mode } = await stat(run.workdir.path);
    expect({ uid, mode: mode & 0o777 }).toEqual({ uid: process.getuid?.(), mode: 0o700 });
  });
});

describe.runIf(STRONG.some(({ kind }) => kind === 'uid'))('uid with few capabilities', () => {
  it('HST-6 needs no more than a Fargate task has, and removes its files with that', async () => {
    const root = await openFolder();
    const marker = newMarker();
    const capabilities = '--bounding-set=-all,+chown,+kill,+setuid,+setgid';
    const program = join(import.meta.dirname, '../../../fixtures/processes/fargate-host.mjs');
    const host = await runCommand(findProgram('setpriv')!, [
      capabilities,
      '--',
      NODE,
      program,
      root,
      marker,
    ]);
    expect(host.stderr).toBe('');
    expect(JSON.parse(host.stdout)).toEqual({
      cause: 'cancelled',
      survivors: 0,
      text: 'made\n',
      uid: 0,
    });
    expect(processesWith(marker)).toEqual([]);
    expect((await readdir(root)).sort()).toEqual(['file', 'runs']);
  });
});

describe.runIf(STRONG.some(({ kind }) => kind === 'bubblewrap'))('bubblewrap view', () => {
  const sandbox = STRONG.find(({ kind }) => kind === 'bubblewrap')?.sandbox;

  it('shows its own processes, a small /etc, and nothing that is not mounted', async () => {
    const script = [
      'ls -d /proc/[0-9]* | wc -l | awk \'{ print ($1 < 8) ? "few" : "many" }\'',
      'ls /etc/shadow /root /home /sys /var 2>/dev/null',
      'whoami; hostname',
      'echo shm > /dev/shm/file; cat /dev/shm/file',
    ].join('; ');
    const engine = await runToEnd(await prepareRun(sandbox!), [SHELL, '-c', script]);
    expect(textsOf(engine.records)).toEqual(['few', 'agent', 'nexusdesk', 'shm']);
  });

  it('lets nobody make a user namespace inside', async () => {
    const script = 'unshare --user true 2>/dev/null && echo made || echo refused';
    const engine = await runToEnd(await prepareRun(sandbox!), [SHELL, '-c', script]);
    expect(textsOf(engine.records)).toEqual(['refused']);
  });

  it('hides a folder around the workdir without hiding the workdir', async () => {
    const root = await openFolder();
    const workdir = await createPrivateWorkdir(join(root, 'runs'), 'run-1');
    await createPrivateWorkdir(join(root, 'runs'), 'run-2');
    const view = { workdir, readOnly: [root], hidden: [join(root, 'runs')], writable: [] };
    const run = { workdir, prepared: await sandbox!.prepare(view), programs: root };
    const script = `ls ${root} ${root}/runs ${workdir.path}; pwd`;
    const engine = await runToEnd(run, [SHELL, '-c', script]);
    expect(textsOf(engine.records)).toEqual([
      `${root}:`,
      'file',
      'runs',
      `${root}/runs:`,
      'run-1',
      `${workdir.path}:`,
      'home',
      'tmp',
      'work',
      workdir.work,
    ]);
  });
});
