import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { identifyProcess, type ProcessIdentity } from './process-identity.ts';

/** What is kept of a container's process so that another run of the stack can adopt it. */
export interface ContainerProcess {
  /** The container's own process: signals go to it alone, as they go to PID 1 of a container. */
  readonly main: ProcessIdentity;
  /** Waits for `main`, writes its exit code into `exitFile` and ends. Its pid is the group of both. */
  readonly keeper: ProcessIdentity;
  readonly exitFile: string;
}

export interface HeldProcess {
  readonly process: ContainerProcess;
  /** Lets the command start. */
  release(): void;
  /** Ends it before the command was started. */
  abandon(): void;
  /** Settles when the keeper has ended, usually because the command has. */
  readonly ended: Promise<void>;
}

export type ProcessEnd =
  | { readonly kind: 'exited'; readonly exitCode?: number }
  /** The stack died between making the process and letting the command start. */
  | { readonly kind: 'never_started' };

/*
 * Two shells. The inner one tells its pid, waits for a line on stdin and becomes the command: until that line
 * comes nothing has run, so a stack that dies in between leaves no unrecorded process, for end-of-file ends it.
 * The outer one, the keeper, outlives the stack and writes the exit code (128 + n for signal n, as containers
 * report it). It ignores what a terminal or a group kill might send; its child has the default handlers.
 */
const INNER = `
echo $$ >&3
exec 3>&-
read -r go || { : >"$0.never-started"; exit 0; }
exec "$@" </dev/null
`;
const KEEPER = `
exit_file=$1 inner=$2
shift 2
trap : HUP INT QUIT TERM
/bin/sh -c "$inner" "$exit_file" "$@"
code=$?
echo "$code" >"$exit_file"
exit "$code"
`;

/**
 * Makes the process of a command, detached and in a group of its own, and holds it before its first
 * instruction. `env` is its whole environment. Rejects when the system refuses (for example `E2BIG`).
 */
export async function holdProcess(options: {
  command: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  stdoutFile: string;
  stderrFile: string;
  exitFile: string;
}): Promise<HeldProcess> {
  const stdout = openSync(options.stdoutFile, 'a');
  const stderr = openSync(options.stderrFile, 'a');
  let child: ChildProcess;
  try {
    child = spawn(
      '/bin/sh',
      ['-c', KEEPER, 'keeper', options.exitFile, INNER, ...options.command],
      {
        cwd: options.cwd,
        env: options.env,
        detached: true,
        stdio: ['pipe', stdout, stderr, 'pipe'],
      },
    );
  } finally {
    closeSync(stdout);
    closeSync(stderr);
  }
  // The stack may end while its tasks go on.
  child.unref();
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stdin = child.stdin as Writable;
  // The process can be killed at any time, and the line it was to read is then refused.
  stdin.on('error', () => stdin.destroy());
  const identities = await tellIdentities(child).catch((error: unknown) => {
    stdin.destroy();
    throw error;
  });
  return {
    process: { ...identities, exitFile: options.exitFile },
    release: () => stdin.end('go\n', () => stdin.destroy()),
    abandon: () => void stdin.destroy(),
    ended,
  };
}

async function tellIdentities(
  child: ChildProcess,
): Promise<{ main: ProcessIdentity; keeper: ProcessIdentity }> {
  await once(child, 'spawn');
  const told = child.stdio[3] as Readable;
  let text = '';
  for await (const chunk of told) {
    text += String(chunk);
    if (text.includes('\n')) break;
  }
  const main = identifyProcess(Number(text));
  const keeper = identifyProcess(Number(child.pid));
  if (!main || !keeper) throw new Error('the process was killed before it started');
  return { main, keeper };
}

/** How the process ended, as far as the keeper could tell. Call it when `main` and `keeper` are gone. */
export function readProcessEnd(process: ContainerProcess): ProcessEnd {
  if (existsSync(`${process.exitFile}.never-started`)) return { kind: 'never_started' };
  let text = '';
  try {
    text = readFileSync(process.exitFile, 'utf8').trim();
  } catch {
    // The keeper was killed, too: nobody knows.
  }
  return /^\d+$/.test(text) ? { kind: 'exited', exitCode: Number(text) } : { kind: 'exited' };
}
