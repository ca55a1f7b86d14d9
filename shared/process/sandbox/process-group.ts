import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  linuxPrivateMemory,
  type ProcessRow,
  readLinuxProcessTable,
  readProcFile,
  readPsProcessTable,
} from './process-table.ts';
import { type ChainPrograms, chainFailure, limitingChain, yieldingChain } from './program-chain.ts';
import type { PreparedSandbox, ProcessHandle, Sandbox, SandboxRun, SpawnPlan } from './sandbox.ts';
import { killIfAlive } from './send-signal.ts';

export interface ProcessGroupOptions {
  readonly chain: ChainPrograms;
  /** Whether `/proc` tells about processes and their environment; else `ps` is asked. */
  readonly procfs: boolean;
}

/** Names the run in its processes' environment, so that one that left the group is found again. */
const RUN_TAG = 'NEXUSDESK_RUN';
/** Between two looks at the tree. An orphan is known by its parent only while the parent lives. */
const LOOK_EVERY_MS = { procfs: 250, ps: 2_000 } as const;

/**
 * The declared weak kind, for a laptop without namespaces: it fences no files and no network, and a process
 * that leaves its session, its parent and its environment between two looks is lost.
 */
export class ProcessGroupSandbox implements Sandbox {
  readonly kind = 'process_group';
  readonly isolates = { filesystem: false, processes: false, network: false };
  readonly #options: ProcessGroupOptions;

  constructor(options: ProcessGroupOptions) {
    this.#options = options;
  }

  async prepare({ workdir }: SandboxRun): Promise<PreparedSandbox> {
    const { chain, procfs } = this.#options;
    const tag = randomBytes(16).toString('hex');
    return {
      kind: this.kind,
      isolates: this.isolates,
      notes: [
        'the engine has the rights of the user who started the platform: files are not fenced',
        'no limit on processes, and one that hides may outlive its run',
      ],
      environment: { HOME: workdir.home, TMPDIR: workdir.tmp },
      plan: ({ argv, env, cwd, limits }): SpawnPlan => {
        // A limit on processes would count those of the person who started the platform.
        const ownLimits = { ...limits, processes: undefined };
        const [file = argv[0], ...args] = [
          ...yieldingChain(chain),
          ...(chain.setpriv === undefined ? [] : [chain.setpriv, '--no-new-privs', '--']),
          ...limitingChain(chain, ownLimits),
          ...argv,
        ];
        return { file, args, env: { ...env, [RUN_TAG]: tag }, cwd, controlPipe: false };
      },
      attach: (child) => attachGroup(child, tag, procfs),
      release: async () => {},
    };
  }
}

function attachGroup(child: ChildProcess, tag: string, procfs: boolean): ProcessHandle {
  const tree = new ProcessTree(child.pid ?? -1, tag, procfs);
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    // A failed look is made good by the next one; those of the kill and after it do count.
    await tree.look().catch(() => []);
    if (!closed)
      timer = setTimeout(() => void look(), LOOK_EVERY_MS[procfs ? 'procfs' : 'ps']).unref();
  };
  void look();

  const pids = async (): Promise<number[]> => (await tree.search()).map((row) => row.pid);
  return {
    ready: Promise.resolve(),
    signal: async (signal) => (await pids()).filter((pid) => killIfAlive(pid, signal)).length,
    killAll: async () => {
      // A stopped process makes no children while the others are being killed.
      for (const pid of await pids()) killIfAlive(pid, 'SIGSTOP');
      for (const pid of await pids()) killIfAlive(pid, 'SIGKILL');
    },
    survivors: pids,
    memoryBytes: async () =>
      (await tree.look()).reduce(
        (sum, row) => sum + (procfs ? linuxPrivateMemory(row.pid) : (row.memoryBytes ?? 0)),
        0,
      ),
    explainExit: (exit, stderrTail) => {
      const message = chainFailure(exit.code, stderrTail);
      return message === undefined ? { started: true, exit } : { started: false, message };
    },
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** The processes that are known to come from one leader. */
class ProcessTree {
  readonly #leader: number;
  readonly #tag: string;
  readonly #procfs: boolean;
  /** Start times by id, of everything ever seen in the tree. */
  readonly #seen = new Map<number, string>();

  constructor(leader: number, tag: string, procfs: boolean) {
    this.#leader = leader;
    this.#tag = `${RUN_TAG}=${tag}`;
    this.#procfs = procfs;
  }

  /** By group, session, parent and memory of earlier looks. The leader comes first. */
  async look(): Promise<ProcessRow[]> {
    return this.#members(await this.#readTable(), () => false);
  }

  /** As `look`, and by the run's tag in the environment, which costs a file for each process there is. */
  async search(): Promise<ProcessRow[]> {
    const table = await this.#readTable();
    return this.#members(table, ({ pid }) => this.#procfs && this.#isTagged(pid));
  }

  #readTable(): Promise<readonly ProcessRow[]> {
    return this.#procfs ? readLinuxProcessTable() : readPsProcessTable();
  }

  #isTagged(pid: number): boolean {
    return readProcFile(pid, 'environ')?.split('\0').includes(this.#tag) ?? false;
  }

  #members(table: readonly ProcessRow[], isTagged: (row: ProcessRow) => boolean): ProcessRow[] {
    const found = new Map<number, ProcessRow>();
    const others = new Set<ProcessRow>();
    const take = (row: ProcessRow): void => {
      found.set(row.pid, row);
      this.#seen.set(row.pid, row.startedAt);
    };
    for (const row of table) {
      if (row.pid === process.pid || row.pid <= 1) continue;
      if (this.#belongs(row) || isTagged(row)) take(row);
      else others.add(row);
    }
    // Children of members, and theirs, until nothing is added.
    for (let added = true; added; ) {
      added = false;
      for (const row of others) {
        if (!found.has(row.parent)) continue;
        others.delete(row);
        take(row);
        added = true;
      }
    }
    return [...found.values()]
      .filter((row) => !row.zombie)
      .sort((a, b) => Number(b.pid === this.#leader) - Number(a.pid === this.#leader));
  }

  #belongs(row: ProcessRow): boolean {
    const seenAt = this.#seen.get(row.pid);
    if (seenAt !== undefined) return seenAt === row.startedAt;
    return row.group === this.#leader || row.session === this.#leader;
  }
}
