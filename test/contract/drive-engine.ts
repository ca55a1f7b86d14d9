import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Capability, ExecutionResult, NewEvent } from '#shared/contracts/index.ts';
import {
  type EngineAdapter,
  type EngineEnding,
  type EngineExecution,
  type EngineLocations,
  type EngineRecord,
  MAX_RECORD_BYTES,
  type PrepareContext,
} from '#shared/engines/index.ts';
import { systemClock } from '#shared/kit/clock.ts';
import { createMasker } from '#shared/masking/index.ts';
import {
  createPrivateWorkdir,
  detectSandbox,
  type PreparedSandbox,
  type PrivateWorkdir,
  type ProcessLimits,
  type ProcessOutcome,
  removeTree,
  type Sandbox,
  type SandboxKind,
} from '#shared/process/index.ts';
import { DEFAULT_HOST_LIMITS, type RunningEngine, runEngine } from '#shared/runtime/index.ts';
import {
  assertValid,
  executionRequest,
  type RequestOptions,
} from '#test/unit/shared/engines/support.ts';

export interface DriveOptions extends RequestOptions {
  readonly effective?: readonly Capability[];
  /** Called with the run's folders before the engine starts. */
  readonly beforeStart?: (workdir: PrivateWorkdir) => Promise<void>;
  /** Instead of the host's. */
  readonly limits?: Partial<ProcessLimits>;
}

export interface Driven {
  readonly workdir: PrivateWorkdir;
  readonly running: RunningEngine;
  /** So far. */
  readonly events: readonly NewEvent[];
  /** As the process printed them. */
  readonly records: readonly EngineRecord[];
  /** Resolves with the first event that fits; rejects when the engine ends without one. */
  event(fits: (event: NewEvent) => boolean): Promise<NewEvent>;
  readonly ended: Promise<{
    readonly result: ExecutionResult;
    readonly outcome: ProcessOutcome;
    readonly ending: EngineEnding;
  }>;
}

const { outputBytes, processes, fileBytes, openFiles, memoryBytes } = DEFAULT_HOST_LIMITS;
const LIMITS = {
  outputBytes,
  processes,
  fileBytes,
  openFiles,
  memoryBytes,
  recordBytes: MAX_RECORD_BYTES,
};

/** Not below /tmp: a sandbox shows its own there, and engines refuse a home inside a temporary directory. */
const RUNS = '/var/tmp';

/** Runs engines as the runtime host does: same supervision, same sandbox, the events kept instead of sent. */
export class EngineDriver {
  readonly #sandbox: Sandbox;
  readonly #root: string;
  readonly #adapter: EngineAdapter;
  readonly #locations: EngineLocations;
  readonly #credentials: Readonly<Record<string, string>>;
  readonly #prepared: PreparedSandbox[] = [];
  #runs = 0;

  private constructor(
    sandbox: Sandbox,
    root: string,
    engine: {
      adapter: EngineAdapter;
      locations: EngineLocations;
      credentials: Readonly<Record<string, string>>;
    },
  ) {
    this.#sandbox = sandbox;
    this.#root = root;
    this.#adapter = engine.adapter;
    this.#locations = engine.locations;
    this.#credentials = engine.credentials;
  }

  /** In the strongest sandbox that works here, or in the kind asked for. */
  static async open(
    engine: {
      adapter: EngineAdapter;
      locations: EngineLocations;
      credentials: Readonly<Record<string, string>>;
    },
    required?: SandboxKind,
  ): Promise<EngineDriver> {
    const { sandbox } = await detectSandbox({
      platform: process.platform,
      ...(required === undefined ? {} : { required }),
    });
    const root = await mkdtemp(join(RUNS, 'engine-'));
    // Users of runs pass through it.
    await chmod(root, 0o711);
    return new EngineDriver(sandbox, root, engine);
  }

  async close(): Promise<void> {
    await Promise.all(this.#prepared.map((prepared) => prepared.release()));
    await removeTree(this.#root);
  }

  /** What the adapter makes of a request, without starting anything. */
  async prepare(
    options: RequestOptions,
    overrides: Partial<PrepareContext> = {},
  ): Promise<EngineExecution> {
    const workdir = await this.#folders();
    const request = executionRequest(this.#adapter.descriptor, options);
    return this.#adapter.prepare(request, { ...this.#context(workdir), ...overrides });
  }

  async start(options: DriveOptions): Promise<Driven> {
    const workdir = await this.#folders();
    await options.beforeStart?.(workdir);
    const request = executionRequest(this.#adapter.descriptor, options);
    const execution = await this.#adapter.prepare(request, this.#context(workdir));
    const sandbox = await this.#sandbox.prepare({
      workdir,
      readOnly: execution.launch.readOnlyPaths,
      hidden: [],
      writable: [],
    });
    this.#prepared.push(sandbox);
    return this.#run(execution, sandbox, workdir, { ...LIMITS, ...options.limits });
  }

  #run(
    execution: EngineExecution,
    sandbox: PreparedSandbox,
    workdir: PrivateWorkdir,
    limits: ProcessLimits,
  ): Driven {
    const events: NewEvent[] = [];
    const waiters = new Set<() => void>();
    const tap = tapTranslator(execution);
    const masker = createMasker(Object.values(this.#credentials));
    const running = runEngine({
      execution: tap.execution,
      sandbox,
      workdir: workdir.work,
      limits,
      graceMs: 2_000,
      masker,
      clock: systemClock,
      emit: async (batch) => {
        for (const event of batch) assertValid(event);
        events.push(...batch);
        for (const wake of waiters) wake();
      },
    });
    const ended = running.ended.then((end) => ({ ...end, ending: tap.ending() }));
    // Also where a test looks at the events only, a failure of the host's side must not go unseen.
    ended.catch(() => {});
    return {
      workdir,
      running,
      events,
      records: tap.records,
      event: (fits) => waitFor(events, waiters, fits, ended),
      ended,
    };
  }

  #folders(): Promise<PrivateWorkdir> {
    this.#runs += 1;
    return createPrivateWorkdir(this.#root, `run-${this.#runs}`);
  }

  #context(workdir: PrivateWorkdir): PrepareContext {
    return {
      locations: this.#locations,
      workdir: workdir.work,
      homeDir: workdir.home,
      tempDir: workdir.tmp,
      credentials: this.#credentials,
      isolation: this.#sandbox.isolates,
      writeHomeFile: async (path, content) => {
        const file = join(workdir.home, path);
        await mkdir(dirname(file), { recursive: true, mode: 0o700 });
        await writeFile(file, content, { mode: 0o600 });
      },
    };
  }
}

/** Keeps what the translator is given, so that a test can play it again with changes. */
function tapTranslator(execution: EngineExecution) {
  const records: EngineRecord[] = [];
  let ending: EngineEnding | undefined;
  const { launch, translator } = execution;
  return {
    records,
    ending: () => {
      if (ending === undefined) throw new Error('the engine has not ended');
      return ending;
    },
    execution: {
      launch,
      translator: {
        onRecord: (record: EngineRecord) => {
          records.push(record);
          return translator.onRecord(record);
        },
        conclude: (end: EngineEnding) => {
          ending = end;
          return translator.conclude(end);
        },
      },
    },
  };
}

async function waitFor(
  events: readonly NewEvent[],
  waiters: Set<() => void>,
  fits: (event: NewEvent) => boolean,
  ended: Promise<{ result: ExecutionResult }>,
): Promise<NewEvent> {
  const over = ended.then(({ result }) => result);
  for (;;) {
    const found = events.find(fits);
    if (found) return found;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const wake = () => resolve(undefined);
    waiters.add(wake);
    const result = await Promise.race([promise, over]);
    waiters.delete(wake);
    if (result === undefined) continue;
    const late = events.find(fits);
    if (late) return late;
    throw new Error(`the engine ended without that event: ${JSON.stringify(result)}`);
  }
}

/** Empty installation folder: no engine is there. */
export async function emptyPrograms(): Promise<{ root: string; remove: () => Promise<void> }> {
  const root = await mkdtemp(join(tmpdir(), 'no-engines-'));
  return { root, remove: () => rm(root, { recursive: true }) };
}
