import type { ChildProcess } from 'node:child_process';
import type { ProcessExit } from '../process-outcome.ts';
import type { ResourceLimits } from '../process-spec.ts';
import type { PrivateWorkdir } from '../workdir.ts';

/** Strongest first. */
export const SANDBOX_KINDS = ['bubblewrap', 'uid', 'process_group'] as const;
export type SandboxKind = (typeof SANDBOX_KINDS)[number];

/** What a process inside cannot reach. What is false here must be fenced by something else, or accepted. */
export interface Isolation {
  /** Files of other runs and of the platform. */
  readonly filesystem: boolean;
  /** Processes outside; and no process inside escapes removal. */
  readonly processes: boolean;
  readonly network: boolean;
}

/** HST-6: one way to fence and to remove the processes of a run. One instance serves many runs. */
export interface Sandbox {
  readonly kind: SandboxKind;
  readonly isolates: Isolation;
  /**
   * Makes ready for one run; `release` it when its last process has ended.
   *
   * @throws SandboxError when the promise of `isolates` cannot be kept for these paths.
   */
  prepare(run: SandboxRun): Promise<PreparedSandbox>;
}

/** Absolute paths. */
export interface SandboxRun {
  readonly workdir: PrivateWorkdir;
  /** Shown read-only beside the system's own programs: the engine's files. */
  readonly readOnly: readonly string[];
  /** Must not be readable, even where a path above is shown. */
  readonly hidden: readonly string[];
  /** Shown writable beside the workdir. */
  readonly writable: readonly string[];
}

/**
 * The sandbox of one run. Processes may follow one another in it; two at once share their fate with the
 * kinds `uid` and `process_group`, where removing one tree removes both.
 */
export interface PreparedSandbox {
  readonly kind: SandboxKind;
  readonly isolates: Isolation;
  /** What is weaker here than the kind promises, and why. For the run's events. */
  readonly notes: readonly string[];
  /** HOME and TMPDIR as a process inside sees them; the caller adds them to its environment. */
  readonly environment: { readonly HOME: string; readonly TMPDIR: string };
  plan(command: SandboxCommand): SpawnPlan;
  /** Call it at once after `spawn`, before anything is awaited. */
  attach(child: ChildProcess): ProcessHandle;
  /** Gives the run's files back to the host. Call it when no process of the run is left; once or often. */
  release(): Promise<void>;
}

export interface SandboxCommand {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly limits: ResourceLimits;
}

/** Arguments of `spawn`. The child is always a session of its own. */
export interface SpawnPlan {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Dropped to in the child before any program runs: none with rights ever sees the run's environment. */
  readonly user?: HostUser;
  /** File descriptor 3 is a pipe from which the sandbox reads. */
  readonly controlPipe: boolean;
}

export interface HostUser {
  readonly uid: number;
  readonly gid: number;
}

/** The processes that come from one `spawn`. No method fails because they are gone. */
export interface ProcessHandle {
  /** Resolves when signals and verification can find the tree; earlier, `killAll` works by the launcher alone. */
  readonly ready: Promise<void>;
  /** Sends a polite signal to the whole tree, the main process first. Returns how many it reached. */
  signal(signal: NodeJS.Signals): Promise<number>;
  /** One attempt to SIGKILL everything. Repeat it until `survivors` is empty. */
  killAll(): Promise<void>;
  /** Process ids, in the host's numbering, of all that is alive. Zombies are dead. */
  survivors(): Promise<number[]>;
  /** Memory that only this tree holds, in bytes. */
  memoryBytes(): Promise<number>;
  /** What the exit of the spawned child says about the program inside. */
  explainExit(exit: ProcessExit, stderrTail: string): ProgramExit;
  /** Ends observation. The tree is left as it is. */
  close(): void;
}

export type ProgramExit =
  | { readonly started: true; readonly exit: ProcessExit }
  /** The sandbox failed before the program ran. */
  | { readonly started: false; readonly message: string };

/** A sandbox cannot be made or cannot keep its promise. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
}
