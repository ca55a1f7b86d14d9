import { type ChildProcess, spawn } from 'node:child_process';
import { isoTime } from '#shared/kit/clock.ts';
import { type Deadline, settlesWithin, startDeadline } from './deadline.ts';
import { checkLaunch, launchFailure } from './launch-check.ts';
import { ProcessInput } from './process-input.ts';
import {
  ProcessLifecycle,
  type ProcessState,
  type ProcessStateChange,
  type ProcessTime,
  systemTime,
} from './process-lifecycle.ts';
import type {
  EndCause,
  LaunchFailure,
  ProcessExit,
  ProcessOutcome,
  StopReason,
  TreeSignal,
} from './process-outcome.ts';
import { ProcessOutput } from './process-output.ts';
import { assertLimits, type ProcessSpec } from './process-spec.ts';
import type { FramedRecord } from './record-framer.ts';
import type { PreparedSandbox, ProcessHandle, SpawnPlan } from './sandbox/sandbox.ts';
import { removeProcessTree } from './tree-removal.ts';

export interface ProcessObservers {
  /**
   * One record of stdout, in order, one at a time: while it runs nothing more is read. When it fails the
   * process is stopped and `outcome` rejects with its error.
   */
  onRecord?(record: FramedRecord): void | Promise<void>;
  /** One masked line of stderr, for diagnostics. Must not block. */
  onStderrLine?(line: string): void;
  /** HST-1. Called at once, also for `start`. */
  onState?(change: ProcessStateChange): void;
}

export interface StopRequest {
  readonly reason: StopReason;
  /** Instead of the grace of the specification; 0 kills at once. */
  readonly graceMs?: number;
}

export interface Supervised {
  /** Settles when the process and all it left behind are gone, or have resisted; see `survivors`. */
  readonly outcome: Promise<ProcessOutcome>;
  readonly state: ProcessState;
  readonly history: readonly ProcessStateChange[];
  /** Of the process that the host started, which may be a launcher. Undefined before `ready`. */
  readonly pid: number | undefined;
  /** For `stdin: 'open'`. False when the process reads no more. Await it: it is the backpressure. */
  write(data: string | Uint8Array): Promise<boolean>;
  /** The process reads end of file. */
  endInput(): void;
  /** What its processes use now; undefined before `ready` and once they are being removed. */
  measure(): Promise<TreeUse | undefined>;
  /** Asks the tree to stop, kills it after the grace, and resolves with the outcome. Later calls only wait. */
  stop(request: StopRequest): Promise<ProcessOutcome>;
}

/** HST-5: how much a run's processes use. */
export interface TreeUse {
  readonly processes: number;
  /** Memory that only they hold. */
  readonly memoryBytes: number;
}

/** Pipes of a dead process: whoever else holds them gets no longer than this for the next byte. */
const DRAIN_IDLE_MS = 250;
const LONGEST_DRAIN_MS = 30_000;
/** A killed process is reaped at once, unless the kernel itself is stuck with it. */
const LONGEST_REAP_MS = 5_000;
const MEMORY_POLL_MS = 250;

/**
 * Runs one program in a sandbox, from its launch until its whole tree is verified gone.
 *
 * The exit of the process ends it, not the closing of its pipes: a grandchild can hold those for ever.
 * Whatever the ending, the rest of the tree is killed before the output is drained.
 *
 * @throws RangeError for limits that are no numbers to count or wait with.
 */
export function superviseProcess(
  spec: ProcessSpec,
  sandbox: PreparedSandbox,
  observers: ProcessObservers = {},
  time: ProcessTime = systemTime,
): Supervised {
  assertLimits(spec);
  return new SupervisedProcess(spec, sandbox, observers, time);
}

class SupervisedProcess implements Supervised {
  readonly outcome: Promise<ProcessOutcome>;
  readonly #spec: ProcessSpec;
  readonly #sandbox: PreparedSandbox;
  readonly #observers: ProcessObservers;
  readonly #time: ProcessTime;
  readonly #lifecycle: ProcessLifecycle;
  readonly #monotonic: () => number;
  readonly #stopRequested = Promise.withResolvers<void>();
  readonly #inputReady = Promise.withResolvers<ProcessInput>();
  #stop: StopRequest | undefined;
  #observerError: { readonly error: unknown } | undefined;
  #child: ChildProcess | undefined;
  #handle: ProcessHandle | undefined;

  constructor(
    spec: ProcessSpec,
    sandbox: PreparedSandbox,
    observers: ProcessObservers,
    time: ProcessTime,
  ) {
    this.#spec = spec;
    this.#sandbox = sandbox;
    this.#observers = observers;
    this.#time = time;
    this.#monotonic = () => time.monotonic();
    this.#lifecycle = new ProcessLifecycle(time, (change) => this.#show(change));
    this.outcome = this.#run();
    // A caller that only waits for `stop` must not meet an unhandled rejection here.
    this.outcome.catch(() => {});
  }

  get state(): ProcessState {
    return this.#lifecycle.state;
  }

  get history(): readonly ProcessStateChange[] {
    return this.#lifecycle.history;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async write(data: string | Uint8Array): Promise<boolean> {
    return (await this.#inputReady.promise).write(data);
  }

  async measure(): Promise<TreeUse | undefined> {
    const handle = this.#handle;
    if (handle === undefined || this.state !== 'running') return undefined;
    const [processes, memoryBytes] = await Promise.all([handle.survivors(), handle.memoryBytes()]);
    return { processes: processes.length, memoryBytes };
  }

  endInput(): void {
    void this.#inputReady.promise.then((input) => input.end());
  }

  stop(request: StopRequest): Promise<ProcessOutcome> {
    const over = this.state === 'terminating' || this.state === 'exited';
    if (this.#stop === undefined && !over) {
      this.#stop = request;
      if (request.reason === 'cancelled') this.#lifecycle.to('cancel_requested');
      if (request.reason === 'timed_out') this.#lifecycle.to('timeout');
      this.#stopRequested.resolve();
    }
    return this.outcome;
  }

  async #run(): Promise<ProcessOutcome> {
    const failure = await checkLaunch(this.#spec);
    if (failure !== undefined) return this.#neverStarted(failure);
    if (this.#stop !== undefined) return this.#neverStarted(undefined);
    const launched = await this.#launch();
    if ('failure' in launched) return this.#neverStarted(launched.failure);
    try {
      return await this.#supervise(launched);
    } finally {
      launched.handle.close();
      launched.input.destroy();
    }
  }

  async #launch(): Promise<Launched | { failure: LaunchFailure }> {
    const { argv, cwd, env, limits, stdin } = this.#spec;
    let child: ChildProcess;
    try {
      const plan = this.#sandbox.plan({ argv, env, cwd, limits });
      child = spawnPlan(plan, stdin !== 'closed');
    } catch (error) {
      return { failure: launchFailure(error, `cannot start ${argv[0]}`) };
    }
    // Registered before anything is awaited, so that no event is missed.
    const exited = exitOf(child);
    const handle = this.#sandbox.attach(child);
    const output = new ProcessOutput(child, this.#spec, {
      onRecord: (record) => this.#observers.onRecord?.(record),
      onStderrLine: (line) => this.#observers.onStderrLine?.(line),
      onLimit: () => void this.stop({ reason: 'output_limit' }),
      onFailure: (error) => this.#abort(error),
    });
    const error = await started(child);
    if (error !== undefined) {
      handle.close();
      return { failure: launchFailure(error, `cannot start ${argv[0]}`) };
    }
    this.#child = child;
    this.#handle = handle;
    return { child, handle, exited, output, input: new ProcessInput(child.stdin) };
  }

  async #supervise(launched: Launched): Promise<ProcessOutcome> {
    const { handle, exited, output, input } = launched;
    if (this.#lifecycle.can('ready')) this.#lifecycle.to('ready');
    const guards = this.#startGuards(handle);
    await Promise.race([handle.ready, exited, this.#stopRequested.promise]);
    if (this.#stop === undefined) {
      this.#deliverInput(input);
      this.#lifecycle.to('running');
    }
    await Promise.race([exited, this.#stopRequested.promise]);
    const { asked, forced } = await this.#endProcess(handle, exited);
    for (const guard of guards) guard.cancel();

    const { left, killed } = await removeProcessTree(handle, exited, this.#monotonic);
    const reaped = await settlesWithin(exited, LONGEST_REAP_MS);
    const survivors = reaped ? left.length : Math.max(left.length, 1);
    const emptyAt = survivors === 0 ? isoTime(this.#time.now()) : null;
    const totalMs = this.#spec.drainMs ?? LONGEST_DRAIN_MS;
    await output.drain({ idleMs: DRAIN_IDLE_MS, totalMs }, this.#monotonic);

    const exit = reaped ? await exited : { code: null, signal: null };
    const explained = handle.explainExit(exit, output.stderrTail);
    const notStarted = !explained.started && this.#stop === undefined && output.bytes === 0;
    return this.#finish({
      cause: notStarted ? 'spawn_failed' : this.#causeOf(output),
      exit: explained.started ? explained.exit : exit,
      ...(notStarted
        ? { failure: { code: 'engine_start_failed', message: explained.message } as const }
        : {}),
      forced,
      survivors,
      signals: [...asked, ...(killed > 0 ? ['SIGKILL' as const] : [])],
      processesKilled: killed,
      verifiedEmptyAt: emptyAt,
      ...output.totals(),
      endedAt: isoTime(this.#time.now()),
    });
  }

  /** A process can end by itself before the host has read that it wrote too much. */
  #causeOf(output: ProcessOutput): EndCause {
    return this.#stop?.reason ?? (output.overLimit ? 'output_limit' : 'exited');
  }

  /** Asks politely if a stop was requested. `forced`: the process has outlived its grace. */
  async #endProcess(
    handle: ProcessHandle,
    exited: Promise<ProcessExit>,
  ): Promise<{ asked: TreeSignal[]; forced: boolean }> {
    const stop = this.#stop;
    if (stop === undefined) {
      this.#lifecycle.to('terminating');
      return { asked: [], forced: false };
    }
    const graceMs = stop.graceMs ?? this.#spec.graceMs;
    const signal = this.#spec.interruptSignal ?? 'SIGTERM';
    // A tree that cannot be asked is killed.
    const reached = graceMs > 0 ? await handle.signal(signal).catch(() => 0) : 0;
    this.#lifecycle.to('terminating');
    // Nobody there to be polite to: the program is not running yet, or not any more.
    const forced = !(await settlesWithin(exited, reached > 0 ? graceMs : 0));
    return { asked: reached > 0 ? [signal] : [], forced };
  }

  #deliverInput(input: ProcessInput): void {
    const { stdin } = this.#spec;
    if (typeof stdin === 'object') {
      // Not awaited: a process that does not read its input may still run and end well.
      void input.write(stdin.text);
      input.end();
    }
    this.#inputReady.resolve(input);
  }

  #startGuards(handle: ProcessHandle): Deadline[] {
    const { wallClockMs, memoryBytes } = this.#spec.limits;
    const guards: Deadline[] = [];
    if (wallClockMs !== undefined) {
      const onReached = (): void => void this.stop({ reason: 'timed_out' });
      guards.push(startDeadline(wallClockMs, onReached, this.#monotonic));
    }
    if (memoryBytes !== undefined) guards.push(this.#watchMemory(handle, memoryBytes));
    return guards;
  }

  #watchMemory(handle: ProcessHandle, limit: number): Deadline {
    let next: Deadline;
    let cancelled = false;
    const look = async (): Promise<void> => {
      // Without a grace: what takes memory this fast may take the host's before it listens.
      if ((await handle.memoryBytes()) > limit)
        void this.stop({ reason: 'memory_limit', graceMs: 0 });
      else if (!cancelled) wait();
    };
    const wait = (): void => {
      next = startDeadline(MEMORY_POLL_MS, () => void look().catch((error) => this.#abort(error)));
    };
    wait();
    return {
      cancel: () => {
        cancelled = true;
        next.cancel();
      },
    };
  }

  #show(change: ProcessStateChange): void {
    try {
      this.#observers.onState?.(change);
    } catch (error) {
      // Later, because a state that is just being entered cannot be left at once.
      queueMicrotask(() => this.#abort(error));
    }
  }

  /** An observer or the watch itself has failed: the tree is removed, then `outcome` rejects. */
  #abort(error: unknown): void {
    this.#observerError ??= { error };
    void this.stop({ reason: 'cancelled' }).catch(() => {});
  }

  #neverStarted(failure: LaunchFailure | undefined): ProcessOutcome {
    if (this.#lifecycle.can('terminating')) this.#lifecycle.to('terminating');
    const at = isoTime(this.#time.now());
    return this.#finish({
      cause: failure === undefined ? (this.#stop?.reason ?? 'cancelled') : 'spawn_failed',
      exit: { code: null, signal: null },
      ...(failure === undefined ? {} : { failure }),
      forced: false,
      survivors: 0,
      signals: [],
      processesKilled: 0,
      verifiedEmptyAt: at,
      outputBytes: 0,
      stderrBytes: 0,
      droppedBytes: 0,
      outputComplete: true,
      stderrTail: '',
      endedAt: at,
    });
  }

  #finish(outcome: ProcessOutcome): ProcessOutcome {
    this.#inputReady.resolve(new ProcessInput(null));
    this.#lifecycle.to('exited');
    if (this.#observerError !== undefined) throw this.#observerError.error;
    return outcome;
  }
}

interface Launched {
  readonly child: ChildProcess;
  readonly handle: ProcessHandle;
  readonly exited: Promise<ProcessExit>;
  readonly output: ProcessOutput;
  readonly input: ProcessInput;
}

function spawnPlan(plan: SpawnPlan, hasInput: boolean): ChildProcess {
  return spawn(plan.file, plan.args, {
    cwd: plan.cwd,
    env: { ...plan.env },
    // A session of its own: no signal of a terminal reaches it, and its group can be signalled alone.
    detached: true,
    stdio: [
      hasInput ? 'pipe' : 'ignore',
      'pipe',
      'pipe',
      ...(plan.controlPipe ? (['pipe'] as const) : []),
    ],
    ...plan.user,
  });
}

function exitOf(child: ChildProcess): Promise<ProcessExit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

/** Resolves with the error when no process could be made. */
function started(child: ChildProcess): Promise<Error | undefined> {
  return new Promise((resolve) => {
    child.once('spawn', () => resolve(undefined));
    child.on('error', resolve);
  });
}
