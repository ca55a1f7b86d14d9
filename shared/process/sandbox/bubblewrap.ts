import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bubblewrapArguments, INSIDE_USER } from './bubblewrap-arguments.ts';
import { attachNamespace } from './namespace-handle.ts';
import { type ChainPrograms, limitingChain, yieldingChain } from './program-chain.ts';
import type { HostUser, PreparedSandbox, Sandbox, SandboxRun, SpawnPlan } from './sandbox.ts';
import { claimUser, type UserClaim, type UserRange } from './user-claim.ts';
import { giveTo, pathsWhere, takeBack } from './user-files.ts';

export interface BubblewrapOptions {
  /** The `bwrap` program, absolute. */
  readonly program: string;
  readonly chain: ChainPrograms;
  /** Whether `program` knows `--disable-userns` (0.8 and later). */
  readonly disableUserNamespaces: boolean;
  /** Whether a limit on processes counts the run's alone. */
  readonly limitsProcesses: boolean;
  /** Users for the runs of a host that is root; undefined for any other host. */
  readonly users: UserRange | undefined;
}

/**
 * Own user, process, IPC and mount namespaces by `bwrap`. The program's tree has an init of its own inside:
 * it reaps what is orphaned, and when it is killed the kernel ends the whole namespace. The network is the
 * host's.
 */
export class BubblewrapSandbox implements Sandbox {
  readonly kind = 'bubblewrap';
  readonly isolates = { filesystem: true, processes: true, network: false };
  readonly #options: BubblewrapOptions;

  constructor(options: BubblewrapOptions) {
    this.#options = options;
  }

  async prepare(run: SandboxRun): Promise<PreparedSandbox> {
    const { workdir } = run;
    const files = {
      sharedMemory: join(workdir.path, 'shm'),
      passwd: join(workdir.path, 'passwd'),
      group: join(workdir.path, 'group'),
    };
    await mkdir(files.sharedMemory, { mode: 0o700 });
    await writeFile(files.passwd, passwdOf(workdir.home), { mode: 0o444 });
    await writeFile(files.group, `${INSIDE_USER.name}:x:${INSIDE_USER.gid}:\n`, { mode: 0o444 });
    // writeFile's mode is cut by the umask.
    await Promise.all([chmod(files.passwd, 0o444), chmod(files.group, 0o444)]);

    const { claim, notes } = await this.#hostUser(run);
    const { program, chain, disableUserNamespaces, limitsProcesses } = this.#options;
    return {
      kind: this.kind,
      isolates: this.isolates,
      notes,
      environment: { HOME: workdir.home, TMPDIR: '/tmp' },
      plan: ({ argv, env, cwd, limits }): SpawnPlan => {
        const view = { ...run, ...files, cwd, disableUserNamespaces };
        const outside = bubblewrapArguments({ ...view, readOnly: [...run.readOnly, argv[0]] });
        const own = limitsProcesses ? limits : { ...limits, processes: undefined };
        const inside = [...yieldingChain(chain), ...limitingChain(chain, own), ...argv];
        return {
          file: program,
          args: [...outside, ...inside],
          env,
          cwd: '/',
          ...(claim === undefined ? {} : { user: claim.user }),
          controlPipe: true,
        };
      },
      attach: attachNamespace,
      release: async () => {
        if (claim === undefined) return;
        for (const path of [workdir.path, ...run.writable]) await takeBack(path);
        await claim.release();
      },
    };
  }

  /**
   * A host that is root runs `bwrap` as a user of the run: inside a namespace root's user id would still be
   * root's for every file that is shown, and the kernel exempts it from the limit on processes.
   */
  async #hostUser(run: SandboxRun): Promise<{ claim: UserClaim | undefined; notes: string[] }> {
    const { users } = this.#options;
    if (users === undefined) return { claim: undefined, notes: [] };
    const claim = await claimUser(users);
    try {
      const closed = await closedTo(claim.user, run);
      if (closed.length === 0) return { claim, notes: [] };
      for (const path of [run.workdir.path, ...run.writable]) await takeBack(path);
      await claim.release();
      const notes = [
        `no own user and no limit on processes: only root can reach ${closed.join(', ')}`,
      ];
      return { claim: undefined, notes };
    } catch (error) {
      await claim.release();
      throw error;
    }
  }
}

/** Gives the run's folders to its user; returns what that user cannot reach all the same. */
async function closedTo(
  user: HostUser,
  { workdir, writable, readOnly }: SandboxRun,
): Promise<string[]> {
  for (const path of [workdir.path, ...writable]) await giveTo(user, path);
  const needed = [workdir.path, ...readOnly, ...writable];
  const reachable = await pathsWhere(user, '-r', needed);
  return needed.filter((path) => !reachable.includes(path));
}

function passwdOf(home: string): string {
  const { name, uid, gid } = INSIDE_USER;
  return `${name}:x:${uid}:${gid}:${name}:${home}:/bin/sh\n`;
}
