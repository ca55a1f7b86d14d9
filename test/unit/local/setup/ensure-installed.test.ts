import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  installedFile,
  type LockEntry,
  type Project,
  projectWithFakeNpm,
} from './project-with-fake-npm.ts';

const NODE_HERE: LockEntry = {
  version: '24.9.0',
  optional: true,
  os: [process.platform],
  cpu: [process.arch],
  bin: { node: 'bin/node' },
};
const LOCK = {
  'node_modules/alpha': { version: '1.0.0', integrity: 'sha512-a' },
  'node_modules/alpha-elsewhere': { version: '1.0.0', optional: true, os: ['plan9'] },
  'node_modules/node-here': NODE_HERE,
} satisfies Record<string, LockEntry>;

const SUCCESS = { do: 'install', exitCode: 0 } as const;

let project: Project;

beforeEach(async () => {
  project = await projectWithFakeNpm();
  project.writeLock(LOCK);
  project.bundledNode('v24.9.0');
});

afterEach(() => project.remove());

/** The installation that most cases start from. */
async function installOnce(): Promise<void> {
  const run = project.setUp();
  (await project.nextCall()).answer(SUCCESS);
  expect(await run.ended).toMatchObject({ code: 0 });
}

describe('what is installed', () => {
  it('is the lock file, with every kind of package and no script of theirs, in one line', async () => {
    const run = project.setUp();
    const call = await project.nextCall();
    expect(call.args).toEqual([
      'ci',
      '--ignore-scripts',
      '--include=dev',
      '--include=optional',
      '--prefer-offline',
      '--loglevel=error',
    ]);
    call.answer(SUCCESS);
    const { code, stderr } = await run.ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^Installing packages, because node_modules is missing \.\.\. done in \d+\.\d s\n$/,
    );
  });

  it('is nothing, in silence and without npm, when the tree matches', async () => {
    await installOnce();
    expect(await project.setUp({ withoutNpm: true }).ended).toMatchObject({ code: 0, stderr: '' });
    expect(project.calls).toHaveLength(1);
  });

  it.each([
    [
      'another version',
      () => project.writeLock({ ...LOCK, 'node_modules/alpha': { version: '2.0.0' } }),
      'alpha is 1.0.0, the lock file says 2.0.0',
    ],
    [
      'another content of the same version',
      () =>
        project.writeLock({
          ...LOCK,
          'node_modules/alpha': { version: '1.0.0', integrity: 'sha512-b' },
        }),
      'alpha is 1.0.0',
    ],
    [
      'a new package',
      () => project.writeLock({ ...LOCK, 'node_modules/@scope/beta': { version: '1.0.0' } }),
      '@scope/beta 1.0.0 is missing',
    ],
    [
      'a package removed by hand',
      () => rmSync(join(project.root, 'node_modules/alpha'), { recursive: true }),
      'alpha was removed',
    ],
  ])('is everything again after %s', async (_title, change, reason) => {
    await installOnce();
    change();
    const run = project.setUp();
    (await project.nextCall()).answer(SUCCESS);
    const { code, stderr } = await run.ended;
    expect(code).toBe(0);
    expect(stderr).toContain(reason);
  });

  it('is everything again after an installation that was interrupted', async () => {
    await installOnce();
    project.writeLock({ ...LOCK, 'node_modules/alpha': { version: '2.0.0' } });
    const interrupted = project.setUp();
    await project.nextCall();
    interrupted.child.kill('SIGTERM');
    expect(await interrupted.ended).toMatchObject({ code: 143 });

    project.writeLock(LOCK); // the tree on disk is the old one, which nobody touched since
    const run = project.setUp();
    (await project.nextCall()).answer(SUCCESS);
    const { code, stderr } = await run.ended;
    expect(code).toBe(0);
    expect(stderr).toContain('the last installation did not finish');
    expect(installedFile(project, 'alpha/package.json')).toContain('1.0.0');
  });
});

describe('a failure', () => {
  it('of npm is shown with what npm said, and the next run tries again', async () => {
    const run = project.setUp();
    (await project.nextCall()).answer({ do: 'half', exitCode: 7, stderr: 'npm error EBROKEN' });
    const { code, stderr } = await run.ended;
    expect(code).toBe(1);
    expect(stderr).toContain('npm ci failed with code 7:\nnpm error EBROKEN');
    expect(stderr).not.toContain('registry');
    await installOnce();
  });

  it('of npm keeps both ends of a long complaint', async () => {
    const run = project.setUp();
    const stderr = `first ${'x'.repeat(100_000)} last`;
    (await project.nextCall()).answer({ do: 'nothing', exitCode: 1, stderr });
    const said = (await run.ended).stderr;
    expect(said).toMatch(/first x+\n\.\.\.x+ last/);
    expect(said.length).toBeLessThan(5_000);
  });

  it('for want of a network says so', async () => {
    const run = project.setUp();
    const stderr = 'npm error code EAI_AGAIN';
    (await project.nextCall()).answer({ do: 'nothing', exitCode: 1, stderr });
    expect((await run.ended).stderr).toContain('The package registry cannot be reached.');
  });

  it('of an npm that claims success without a tree is noticed', async () => {
    const run = project.setUp();
    (await project.nextCall()).answer({ do: 'nothing', exitCode: 0 });
    const { code, stderr } = await run.ended;
    expect(code).toBe(1);
    expect(stderr).toContain('npm ci ended well, but node_modules is missing.');
  });

  it('for want of npm says where npm comes from', async () => {
    const { code, stderr } = await project.setUp({ withoutNpm: true }).ended;
    expect(code).toBe(1);
    expect(stderr).toContain('npm is not on PATH');
    expect(stderr).not.toContain(' at '); // no stack
  });
});

describe('Node', () => {
  it('older than 20 is refused before anything is done', async () => {
    const { code, stderr } = await project.setUp({ version: 'v18.20.0' }).ended;
    expect(code).toBe(1);
    expect(stderr).toBe(
      'Node.js 20 or newer is needed to install the project; this is v18.20.0.\n',
    );
    expect(project.calls).toEqual([]);
  });

  it('20 is enough where a package brings 24', async () => {
    const run = project.setUp({ version: 'v20.1.0' });
    (await project.nextCall()).answer(SUCCESS);
    expect(await run.ended).toMatchObject({ code: 0 });
  });

  it('20 is refused, with the remedy, where no package brings 24', async () => {
    const { code, stderr } = await project.setUp({ version: 'v20.1.0', platform: 'sunos' }).ended;
    expect(code).toBe(1);
    expect(stderr).toContain(`no package has it for sunos-${process.arch}; this is v20.1.0`);
    expect(stderr).toContain('Install Node.js 24');
    expect(project.calls).toEqual([]);
  });

  it('24 is enough where no package brings it', async () => {
    const run = project.setUp({ version: 'v24.1.0', platform: 'sunos' });
    (await project.nextCall()).answer(SUCCESS);
    expect(await run.ended).toMatchObject({ code: 0 });
  });

  it.each([
    ['v20.1.0', 1, 'the packaged one does not run here (ENOENT)'],
    ['v24.1.0', 0, 'done in'],
  ])('that cannot run here leaves PATH to the system with %s', async (version, code, text) => {
    project.bundledNode(undefined);
    const run = project.setUp({ version });
    (await project.nextCall()).answer(SUCCESS);
    const ended = await run.ended;
    expect(ended).toMatchObject({ code });
    expect(ended.stderr).toContain(text);
    const link = join(project.root, 'node_modules/.bin/node');
    expect(lstatSync(link, { throwIfNoEntry: false })).toBeUndefined();
    // The packages are there: the second run neither installs again nor forgets the complaint.
    expect(await project.setUp({ version, withoutNpm: true }).ended).toMatchObject({ code });
  });
});

describe('two at once', () => {
  const lockFile = () => join(project.root, '.nexusdesk/install.lock');

  it('install once: the second waits and finds the work done', async () => {
    const first = project.setUp();
    const call = await project.nextCall();
    const second = project.setUp();
    await second.says(`Waiting for the installation by process ${first.child.pid} to end.`);
    call.answer(SUCCESS);
    expect(await first.ended).toMatchObject({ code: 0 });
    expect(await second.ended).toMatchObject({ code: 0 });
    expect(project.calls).toHaveLength(1);
    expect(existsSync(lockFile())).toBe(false);
  });

  it('do not meet when the first is killed and its npm lives on', async () => {
    const first = project.setUp();
    const call = await project.nextCall();
    first.child.kill('SIGKILL');
    await first.ended;
    const second = project.setUp();
    await second.says('Waiting for the installation');
    call.answer(SUCCESS);
    expect(await second.ended).toMatchObject({ code: 0 });
    expect(project.calls).toHaveLength(1);
  });

  it('never wait for a process that is gone', async () => {
    const gone = spawn(process.execPath, ['--version']);
    await once(gone, 'close');
    mkdirSync(join(project.root, '.nexusdesk'));
    writeFileSync(lockFile(), `${hostname()} ${gone.pid}`);
    await installOnce();
    expect(existsSync(lockFile())).toBe(false);
  });
});
