import { spawn } from 'node:child_process';
import type { HostUser } from './sandbox.ts';

export interface CommandResult {
  /** Null when it was killed, by us after `timeoutMs` or by somebody else. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: HostUser;
  readonly timeoutMs?: number;
}

/** The whole PATH of the few system programs that the host itself runs. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const LONGEST_COMMAND_MS = 20_000;

/**
 * Runs a short, trusted system program to its exit. Not for engines: it knows no tree.
 *
 * @throws the error of `spawn` when the program is missing or may not be run as `user`.
 */
export function runCommand(
  file: string,
  args: readonly string[],
  { env = {}, user, timeoutMs = LONGEST_COMMAND_MS }: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      env: { PATH: SYSTEM_PATH, ...env },
      cwd: '/',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      ...user,
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...output }));
  });
}
