import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { EventEmitter, on, once } from 'node:events';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const SETUP = resolve(import.meta.dirname, '../../../../local/setup');

/** What a lock file says of one package. */
export interface LockEntry {
  readonly version: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly bin?: Readonly<Record<string, string>>;
}

/** One call of npm by the script under test; npm lives until it is answered. */
export interface NpmCall {
  readonly pid: number;
  readonly args: readonly string[];
  /** `install` makes the tree of the lock file; `half` stops before npm's own record of it. */
  answer(how: { do: 'install' | 'half' | 'nothing'; exitCode: number; stderr?: string }): void;
}

export interface SetupRun {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>;
  /** Resolves once stderr contains the text. */
  says(text: string): Promise<void>;
}

export interface Project {
  readonly root: string;
  /** Every call of npm so far, oldest first. */
  readonly calls: readonly NpmCall[];
  nextCall(): Promise<NpmCall>;
  writeLock(packages: Readonly<Record<string, LockEntry>>): void;
  /** `version` and `platform` are what the script believes to run on. */
  setUp(as?: { version?: string; platform?: string; withoutNpm?: boolean }): SetupRun;
  /** What `node_modules/.bin/node` will print, or `undefined` for a program that cannot start. */
  bundledNode(version: string | undefined): void;
  remove(): Promise<void>;
}

/**
 * A directory with the setup script, a lock file, and an npm on PATH which reports each call to the
 * test and does what the test answers. No network, no real packages; the processes are real.
 */
export async function projectWithFakeNpm(): Promise<Project> {
  const root = mkdtempSync(join(tmpdir(), 'nexusdesk-setup-'));
  cpSync(SETUP, join(root, 'local/setup'), { recursive: true });
  const bin = join(root, 'fake-bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'npm'), `#!${process.execPath}\n${FAKE_NPM}`);
  chmodSync(join(bin, 'npm'), 0o755);

  const calls: NpmCall[] = [];
  const arrivals = new EventEmitter();
  let taken = 0;
  const server = createServer((socket) => {
    void readCall(socket).then((call) => {
      calls.push(call);
      arrivals.emit('call');
    });
  });
  await listen(server, join(root, 'npm.sock'));

  return {
    root,
    calls,
    async nextCall() {
      if (calls.length <= taken) await once(arrivals, 'call');
      const call = calls[taken];
      taken += 1;
      if (!call) throw new Error('npm was announced, but not recorded');
      return call;
    },
    writeLock(packages) {
      writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages }));
    },
    bundledNode(version) {
      const script = version === undefined ? '#!/nowhere/ld.so\n' : `#!/bin/sh\necho ${version}\n`;
      writeFileSync(join(root, 'bundled-node'), script, { mode: 0o755 });
    },
    setUp(as = {}) {
      return startSetup(root, {
        PATH: as.withoutNpm ? join(root, 'empty') : bin,
        NODE_OPTIONS: `--import=${pretending(as)}`,
        HOME: root,
      });
    },
    async remove() {
      for (const call of calls) if (isAlive(call.pid)) process.kill(call.pid, 'SIGKILL');
      server.close();
      await once(server, 'close');
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Runs in the child, before the script: it then sees another Node or another platform. */
function pretending(as: { version?: string; platform?: string }): string {
  const lines = Object.entries({ version: as.version, platform: as.platform })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `Object.defineProperty(process,'${key}',{value:'${value}'});`);
  return `data:text/javascript,${encodeURIComponent(lines.join(''))}`;
}

function startSetup(root: string, env: NodeJS.ProcessEnv): SetupRun {
  const child = spawn(process.execPath, [join(root, 'local/setup/ensure-installed.mjs')], { env });
  let stderr = '';
  const heard = new EventEmitter();
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    heard.emit('more');
  });
  return {
    child,
    ended: once(child, 'close').then(([code, signal]) => ({ code, signal, stderr })),
    async says(text) {
      if (stderr.includes(text)) return;
      for await (const _ of on(heard, 'more')) if (stderr.includes(text)) return;
    },
  };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((settle, fail) => {
    server.once('error', fail);
    server.listen(path, settle);
  });
}

async function readCall(socket: Socket): Promise<NpmCall> {
  socket.on('error', () => {}); // the fake may be killed while it waits
  const [first] = await once(socket.setEncoding('utf8'), 'data');
  const { pid, args } = JSON.parse(first) as { pid: number; args: string[] };
  return { pid, args, answer: (how) => void socket.end(JSON.stringify(how)) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export const installedFile = (project: Project, path: string): string =>
  readFileSync(join(project.root, 'node_modules', path), 'utf8');

/** CommonJS, since a program without a suffix is that. */
const FAKE_NPM = `
const { connect } = require('node:net');
const fs = require('node:fs');
const socket = connect('npm.sock', () =>
  socket.write(JSON.stringify({ pid: process.pid, args: process.argv.slice(2) })));
let answer = '';
socket.setEncoding('utf8').on('data', (text) => { answer += text; }).on('end', () => {
  const how = JSON.parse(answer);
  if (how.do !== 'nothing') install(how.do === 'install');
  if (how.stderr) process.stderr.write(how.stderr);
  process.exitCode = how.exitCode;
});
function install(whole) {
  fs.rmSync('node_modules', { recursive: true, force: true });
  const { packages } = JSON.parse(fs.readFileSync('package-lock.json', 'utf8'));
  const here = Object.entries(packages).filter(([, entry]) => !entry.os || entry.os.includes(process.platform));
  for (const [path, entry] of here) {
    fs.mkdirSync(path, { recursive: true });
    fs.writeFileSync(path + '/package.json', JSON.stringify(entry));
  }
  fs.mkdirSync('node_modules/.bin', { recursive: true });
  if (fs.existsSync('bundled-node')) fs.symlinkSync('../../bundled-node', 'node_modules/.bin/node');
  if (whole) fs.writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: Object.fromEntries(here) }));
}
`;
