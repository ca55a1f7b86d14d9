import { type ChildProcess, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { NexusDeskClient } from '#client/nexusdesk-client.ts';
import { openDevIssuer } from '#local/stack/dev-issuer.ts';
import { freePort } from '#local/stack/ports.ts';
import type { AgentEvent, CreateRunRequest, RunView } from '#shared/contracts/index.ts';

const PROJECT = resolve(import.meta.dirname, '../..');

/** The real platform in a process of its own, on a data folder that survives it. */
export interface StackProcess {
  readonly url: string;
  readonly token: string;
  readonly client: NexusDeskClient;
  readonly dataDir: string;
  /** SIGKILL: no chance to tidy up. Resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with its exit code. */
  stop(): Promise<number | null>;
  /** A token of the same issuer for another tenant, or one that has expired. */
  tokenFor(tenantId: string, lifeMs?: number): Promise<string>;
}

/** Below the project, as a developer's own is: a folder below the system's temporary one would hide Codex's helpers. */
export function newDataDir(): string {
  const parent = join(PROJECT, '.nexusdesk');
  mkdirSync(parent, { recursive: true, mode: 0o711 });
  return mkdtempSync(join(parent, 'e2e-'));
}

export function removeDataDir(dataDir: string): void {
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
}

export async function startStackProcess(
  dataDir: string,
  env: Record<string, string> = {},
  /** Told of the process long before it is up, so that it can be killed while it starts. */
  onSpawn: (pid: number) => void = () => {},
): Promise<StackProcess> {
  await reservePorts(dataDir);
  const child = spawn(process.execPath, ['local/main.ts', '--no-demo', '--data', dataDir], {
    cwd: PROJECT,
    env: { ...withoutKeys(process.env), NEXUSDESK_GRACE_MS: '1000', NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) onSpawn(child.pid);
  await untilUp(child);
  const { url, token } = JSON.parse(readFileSync(join(dataDir, 'connection.json'), 'utf8')) as {
    url: string;
    token: string;
  };
  return {
    url,
    token,
    dataDir,
    client: new NexusDeskClient({ baseUrl: url, token }),
    kill: () => end(child, 'SIGKILL').then(() => {}),
    stop: () => end(child, 'SIGTERM'),
    async tokenFor(tenantId, lifeMs) {
      const state = new DatabaseSync(join(dataDir, 'state.sqlite'));
      try {
        const issuer = await openDevIssuer(state, url);
        const issued = await issuer.issue({
          tenantId,
          subject: 'tester',
          ...(lifeMs === undefined ? {} : { lifeMs }),
        });
        return issued.token;
      } finally {
        state.close();
      }
    },
  };
}

/** Ports of its own: the usual one may be taken by another stack while this one is down. */
async function reservePorts(dataDir: string): Promise<void> {
  const file = join(dataDir, 'ports.json');
  if (existsSync(file)) return;
  const ports = { api: await freePort(), aws: await freePort(), model: await freePort() };
  writeFileSync(file, JSON.stringify(ports));
}

/** A developer's own key must not turn the tests to a real model. */
function withoutKeys(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { OPENAI_API_KEY: _key, OPENAI_BASE_URL: _url, NEXUSDESK_DATA: _data, ...rest } = env;
  return rest;
}

async function untilUp(child: ChildProcess): Promise<void> {
  const output: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => output.push(chunk.toString()));
  if (!child.stdout) throw new Error('no stdout');
  const lines = createInterface({ input: child.stdout });
  await new Promise<void>((resolvePromise, reject) => {
    lines.on('line', (line) => {
      output.push(line);
      if (line.includes('is up at')) resolvePromise();
    });
    child.once('exit', (code) =>
      reject(new Error(`the stack ended with ${code}:\n${output.join('\n')}`)),
    );
  });
  child.stdout.resume();
}

function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  const exited = new Promise<number | null>((resolvePromise) => child.once('exit', resolvePromise));
  child.kill(signal);
  return exited;
}

/** Submits a run and follows it to its end over SSE. */
export async function runToEnd(
  stack: StackProcess,
  body: CreateRunRequest,
  onEvent: (event: AgentEvent, runId: string) => Promise<void> | void = () => {},
): Promise<{ run: RunView; events: AgentEvent[] }> {
  const { executionId } = await stack.client.createRun(body);
  return followToEnd(stack, executionId, onEvent);
}

export async function followToEnd(
  stack: StackProcess,
  runId: string,
  onEvent: (event: AgentEvent, runId: string) => Promise<void> | void = () => {},
): Promise<{ run: RunView; events: AgentEvent[] }> {
  const events: AgentEvent[] = [];
  for await (const event of stack.client.streamEvents(runId)) {
    events.push(event);
    await onEvent(event, runId);
  }
  return { run: await stack.client.getRun(runId), events };
}

const HOST_PROGRAM = 'runtime-host/main.ts';

/** Processes of the run, but for its host: whose command line or environment names it. */
export function engineProcesses(runId: string): number[] {
  return processesNaming(runId).filter((pid) => !read(pid, 'cmdline').includes(HOST_PROGRAM));
}

/** Hosts of the run. */
export function hostProcesses(runId: string): number[] {
  return processesNaming(runId).filter((pid) => {
    const command = read(pid, 'cmdline').split('\0');
    return (
      command.some((argument) => argument.endsWith(HOST_PROGRAM)) && command[0]?.endsWith('node')
    );
  });
}

function processesNaming(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && !isZombie(pid))
    .filter((pid) => read(pid, 'cmdline').includes(text) || read(pid, 'environ').includes(text));
}

function isZombie(pid: number): boolean {
  return /\) [ZX] /.test(read(pid, 'stat'));
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

/** The newest result of `read` that is not undefined; asks again until there is one. The test's timeout is the limit. */
export async function eventually<T>(
  read: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  for (;;) {
    const value = await read();
    if (value !== undefined) return value;
    await new Promise((resolvePromise) => setTimeout(resolvePromise, 25));
  }
}
