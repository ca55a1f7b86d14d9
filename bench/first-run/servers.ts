import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { send } from './http.ts';

export interface Server {
  readonly pid: number;
  /** SIGKILL to it and everything it started. */
  kill(): Promise<void>;
}

/** Starts a server in a process group of its own and waits until `readyUrl` answers. */
export async function startServer(options: {
  command: readonly [string, ...string[]];
  cwd: string;
  env?: NodeJS.ProcessEnv;
  logFile: string;
  readyUrl: string;
}): Promise<Server> {
  const [program, ...args] = options.command;
  const log = openSync(options.logFile, 'a');
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', log, log],
    detached: true,
  });
  process.once('exit', () => killGroup(child));
  await untilReady(child, options);
  return {
    pid: Number(child.pid),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      killGroup(child);
      await exited;
    },
  };
}

async function untilReady(
  child: ChildProcess,
  options: { readyUrl: string; logFile: string },
): Promise<void> {
  const giveUpAt = performance.now() + 90_000;
  for (;;) {
    if (child.exitCode !== null || performance.now() > giveUpAt) {
      throw new Error(
        `no server at ${options.readyUrl}:\n${readFileSync(options.logFile, 'utf8').slice(-2000)}`,
      );
    }
    try {
      await send({ url: options.readyUrl });
      return;
    } catch {
      await delay(50);
    }
  }
}

function killGroup(child: ChildProcess): void {
  try {
    process.kill(-Number(child.pid), 'SIGKILL');
  } catch {
    // gone already
  }
}

/** Resident memory of a process and all below it, in KiB. */
export function residentKib(pid: number): number {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(Number(name)) === pid);
  return children.reduce((sum, child) => sum + residentKib(Number(child)), ownKib(pid));
}

function ownKib(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(read(pid, 'status'))?.[1] ?? 0);
}

function parentOf(pid: number): number {
  return Number(/PPid:\s+(\d+)/.exec(read(pid, 'status'))?.[1] ?? 0);
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
