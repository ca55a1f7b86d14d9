import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { installEngine } from '#local/engines/install-engine.ts';

/** Stands for npm: counts its calls, and puts into node_modules what the lock file names. */
const FAKE_NPM = `#!/usr/bin/env node
const { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
appendFileSync('../calls', process.argv.slice(2).join(' ') + '\\n');
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
delete packages[''];
const mode = readFileSync('../mode', 'utf8');
if (mode === 'offline') { console.error('npm error code ENOTFOUND'); process.exit(1); }
rmSync('node_modules', { recursive: true, force: true });
for (const [path, entry] of Object.entries(packages)) {
  const here = entry.os === undefined || entry.os.includes('here-os');
  if (!here || (mode === 'without-platform' && entry.os)) { delete packages[path]; continue; }
  mkdirSync(path, { recursive: true });
  writeFileSync(path + '/package.json', JSON.stringify(entry));
}
if (mode === 'killed') process.exit(137);
writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages }));
`;

const LOCK = {
  packages: {
    '': { name: 'engine' },
    'node_modules/acme': { version: '1.2.3', integrity: 'sha512-a' },
    'node_modules/acme-here': {
      version: '1.2.3',
      optional: true,
      os: ['here-os'],
      cpu: ['here-cpu'],
    },
    'node_modules/acme-there': {
      version: '1.2.3',
      optional: true,
      os: ['there-os'],
      cpu: ['here-cpu'],
    },
  },
};

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'install-engine-'));
  await mkdir(join(root, 'containers/acme'), { recursive: true });
  await mkdir(join(root, 'bin'));
  await writeFile(join(root, 'containers/acme/package-lock.json'), JSON.stringify(LOCK));
  await writeFile(join(root, 'containers/mode'), 'ok');
  await writeFile(join(root, 'containers/calls'), '');
  await writeFile(join(root, 'bin/npm'), FAKE_NPM);
  await chmod(join(root, 'bin/npm'), 0o755);
  vi.stubEnv('PATH', [join(root, 'bin'), process.env.PATH].join(delimiter));
});
afterEach(() => rm(root, { recursive: true }));

const mode = (name: string) => writeFile(join(root, 'containers/mode'), name);
const calls = async () =>
  (await readFile(join(root, 'containers/calls'), 'utf8')).split('\n').filter(Boolean);

function install(folder = 'acme', lines: string[] = []): Promise<boolean> {
  return installEngine(folder, {
    root: join(root, 'containers'),
    onProgress: (line) => lines.push(line),
    platform: 'here-os' as NodeJS.Platform,
    arch: 'here-cpu',
  });
}

describe("installing an engine's program", () => {
  it('happens once, from the lock file and without running scripts of packages', async () => {
    const lines: string[] = [];
    expect(await install('acme', lines)).toBe(true);
    expect(lines[0]).toBe('acme: installing, because node_modules is missing');
    expect(lines.at(-1)).toMatch(/^acme: installed, \d+ MB in \d+ s$/);
    const silent: string[] = [];
    expect(await install('acme', silent)).toBe(false);
    expect(silent).toEqual([]);
    expect(await calls()).toEqual([expect.stringMatching(/^ci --ignore-scripts/)]);
  });

  it('happens once when several processes of one folder ask for it', async () => {
    const outcomes = await Promise.all([install(), install(), install()]);
    expect(outcomes.filter(Boolean)).toHaveLength(1);
    expect(await calls()).toHaveLength(1);
  });

  it('is repeated after one that was interrupted', async () => {
    await mode('killed');
    await expect(install()).rejects.toThrow(/npm ci failed with code 137/);
    await mode('ok');
    const lines: string[] = [];
    expect(await install('acme', lines)).toBe(true);
    expect(lines[0]).toContain('the last installation did not finish');
  });

  it('is repeated for a version that is not the one of the lock file', async () => {
    await install();
    const newer = structuredClone(LOCK);
    newer.packages['node_modules/acme'].version = '1.3.0';
    await writeFile(join(root, 'containers/acme/package-lock.json'), JSON.stringify(newer));
    expect(await install()).toBe(true);
  });

  it('fails when the package for this platform is missing, which is no failure to npm', async () => {
    await mode('without-platform');
    await expect(install()).rejects.toThrow(/acme-here is missing.*here-os-here-cpu/);
  });

  it('says what to do without a network', async () => {
    await mode('offline');
    await expect(install()).rejects.toThrow(/registry cannot be reached. Connect once/);
  });

  it.each(['nope', '../acme', ''])('refuses %j and lists what there is', async (folder) => {
    await expect(install(folder)).rejects.toThrow(/no engine ".*" to install; there is: acme/);
  });
});
