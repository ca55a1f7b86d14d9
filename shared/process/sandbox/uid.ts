import type { ChildProcess } from 'node:child_process';
import { linuxPrivateMemory, linuxProcessIds } from './process-table.ts';
import { type ChainPrograms, chainFailure, limitingChain, yieldingChain } from './program-chain.ts';
import { runCommand } from './run-command.ts';
import {
  type HostUser,
  type PreparedSandbox,
  type ProcessHandle,
  type Sandbox,
  SandboxError,
  type SandboxRun,
  type SpawnPlan,
} from './sandbox.ts';
import { killIfAlive } from './send-signal.ts';
import { claimUser, type UserRange, usersOf } from './user-claim.ts';
import { giveTo, pathsWhere, takeBack } from './user-files.ts';

export interface UidOptions {
  readonly chain: ChainPrograms;
  readonly users: UserRange;
}

/**
 * Every run under a user id of its own, for a host that is root on Linux without user namespaces (Fargate).
 * Files are fenced by their permissions; processes are removed by `kill(-1)` as that user, which the kernel
 * carries out against all of them at once.
 */
export class UidSandbox implements Sandbox {
  readonly kind = 'uid';
  readonly isolates = { filesystem: true, processes: true, network: false };
  readonly #options: UidOptions;

  constructor(options: UidOptions) {
    this.#options = options;
  }

  async prepare(run: SandboxRun): Promise<PreparedSandbox> {
    const claim = await claimUser(this.#options.users);
    const { user } = claim;
    const { workdir } = run;
    try {
      for (const path of [workdir.path, ...run.writable]) await giveTo(user, path);
      await assertPaths(user, run);
    } catch (error) {
      await claim.release();
      throw error;
    }
    const { chain } = this.#options;
    return {
      kind: this.kind,
      isolates: this.isolates,
      notes: [],
      environment: { HOME: workdir.home, TMPDIR: workdir.tmp },
      plan: ({ argv, env, cwd, limits }): SpawnPlan => {
        const [file = argv[0], ...args] = [
          ...enteringChain(chain, cwd),
          ...yieldingChain(chain),
          ...unprivilegedChain(chain),
          ...limitingChain(chain, limits),
          ...argv,
        ];
        return { file, args, env, cwd: '/', user, controlPipe: false };
      },
      attach: (child) => attachUser(child, user),
      release: async () => {
        for (const path of [workdir.path, ...run.writable]) await takeBack(path);
        await claim.release();
      },
    };
  }
}

/** The run's user enters the folder: the host itself may lack the right, once it has given it away. */
function enteringChain({ env }: ChainPrograms, folder: string): string[] {
  if (env === undefined) throw new SandboxError('env is missing');
  return [env, '-C', folder, '--'];
}

/** No program that it starts can gain rights, whatever bits its file has. */
function unprivilegedChain({ setpriv }: ChainPrograms): string[] {
  if (setpriv === undefined) throw new SandboxError('setpriv is missing');
  return [setpriv, '--no-new-privs', '--inh-caps=-all', '--'];
}

/** The promise of `isolates.filesystem`, checked by the kernel itself. */
async function assertPaths(user: HostUser, run: SandboxRun): Promise<void> {
  const seen = await pathsWhere(user, '-r', run.hidden);
  const entered = await pathsWhere(user, '-x', run.hidden);
  const open = run.hidden.filter((path) => seen.includes(path) || entered.includes(path));
  if (open.length > 0) throw new SandboxError(`the run's user could read ${open.join(', ')}`);
  const needed = [run.workdir.work, run.workdir.home, ...run.readOnly, ...run.writable];
  const readable = await pathsWhere(user, '-r', needed);
  const closed = needed.filter((path) => !readable.includes(path));
  if (closed.length > 0) throw new SandboxError(`the run's user cannot reach ${closed.join(', ')}`);
}

/** SIGKILL to every process that the caller may signal, except itself. */
const KILL_ALL = 'kill -s KILL -- -1';
/** The killer belongs to the run's user: a process of the run may stop it before it acts. */
const KILLER_TIMEOUT_MS = 2_000;

function attachUser(child: ChildProcess, user: HostUser): ProcessHandle {
  const survivors = async (): Promise<number[]> =>
    linuxProcessIds().filter((pid) => {
      const owner = usersOf(pid);
      return owner !== undefined && !owner.zombie && owner.ids.includes(user.uid);
    });
  return {
    ready: Promise.resolve(),
    signal: async (signal) => {
      const main = child.pid ?? -1;
      const all = await survivors();
      const targets = [...all.filter((pid) => pid === main), ...all.filter((pid) => pid !== main)];
      return targets.filter((pid) => killIfAlive(pid, signal)).length;
    },
    killAll: async () => {
      await runCommand('/bin/sh', ['-c', KILL_ALL], { user, timeoutMs: KILLER_TIMEOUT_MS }).catch(
        // No process could be made: the pids that can be seen are killed one by one below.
        () => undefined,
      );
      for (const pid of await survivors()) killIfAlive(pid, 'SIGKILL');
    },
    survivors,
    memoryBytes: async () =>
      (await survivors()).reduce((sum, pid) => sum + linuxPrivateMemory(pid), 0),
    explainExit: (exit, stderrTail) => {
      const message = chainFailure(exit.code, stderrTail);
      return message === undefined ? { started: true, exit } : { started: false, message };
    },
    close: () => {},
  };
}
