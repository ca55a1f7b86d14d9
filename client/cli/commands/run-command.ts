import { randomUUID } from 'node:crypto';
import {
  type CreateRunRequest,
  type ExecutionHandle,
  idempotencyKeySchema,
  MAX_TIMEOUT_MS,
  type RunId,
  type TerminalStatus,
  tripleName,
} from '#shared/contracts/index.ts';
import { ApiError } from '../../client-error.ts';
import type { NexusDeskClient } from '../../nexusdesk-client.ts';
import { CliError, EXIT, Interrupted, reportOf, usageError } from '../cli-error.ts';
import { durationText, parseDuration } from '../duration.ts';
import { engineConfig } from '../engine-config.ts';
import { exitCodeOfRun, followRun } from '../follow-run.ts';
import { readPrompt } from '../prompt.ts';
import { type CommandContext, connect } from './command-context.ts';

export interface RunOptions {
  readonly engine?: string;
  readonly protocol?: string;
  readonly file?: string;
  readonly config?: string;
  readonly set: readonly string[];
  readonly timeout?: string;
  readonly idempotencyKey?: string;
  readonly detach?: boolean;
}

const TIMEOUT_RANGE = { min: 1_000, max: MAX_TIMEOUT_MS };

/** Starts a run and follows it to its end. */
export async function runCommand(
  context: CommandContext,
  words: readonly string[],
  options: RunOptions,
): Promise<number> {
  const idempotencyKey = checkedKey(options.idempotencyKey) ?? randomUUID();
  const given = await requestBody(context, words, options);
  const client = await connect(context);
  const engineId = options.engine ?? (await onlyEngine(client));
  const { protocol } = options;
  const body: CreateRunRequest = {
    engine: { id: engineId, ...(protocol === undefined ? {} : { protocol }) },
    ...given,
  };
  const interrupt = new RunInterrupt(context, client, idempotencyKey);
  try {
    const handle = await client.createRun(body, { idempotencyKey, signal: interrupt.signal });
    interrupt.runAccepted(handle.executionId);
    if (options.detach && !interrupt.happened) {
      showHandle(context, handle);
      return EXIT.ok;
    }
    const { output } = context;
    output.line(output.paint('dim', `run ${handle.executionId}`));
    const status = await followRun({
      client,
      output,
      runId: handle.executionId,
      startedAtMs: Date.parse(handle.acceptedAt),
      signal: interrupt.signal,
    });
    return interrupt.exitCode(status);
  } finally {
    interrupt.close();
  }
}

async function requestBody(
  { host }: CommandContext,
  words: readonly string[],
  options: RunOptions,
): Promise<Omit<CreateRunRequest, 'engine'>> {
  const config = engineConfig(options.config, options.set);
  const timeoutMs = checkedTimeout(options.timeout);
  return {
    input: { prompt: await readPrompt(words, options.file, host) },
    ...(config === undefined ? {} : { config }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

/** Left out, the engine is the one that can be used here; of several, the user has to choose. */
async function onlyEngine(client: NexusDeskClient): Promise<string> {
  const { engines } = await client.listEngines();
  const usable = engines.filter((view) => view.availability === 'available');
  const [only, ...others] = new Set(usable.map((view) => view.engine.engineId));
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined) {
    const remedy = '`nexusdesk doctor` says why, and what to install';
    throw new CliError(EXIT.unavailable, 'no_engine', 'no engine is available', { remedy });
  }
  const remedy = `choose with --engine: ${[only, ...others].join(', ')}`;
  throw usageError('there are several engines', { field: '--engine', remedy });
}

function checkedTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const timeoutMs = parseDuration(text, TIMEOUT_RANGE);
  if (timeoutMs !== undefined) return timeoutMs;
  const { min, max } = TIMEOUT_RANGE;
  throw usageError(
    `${JSON.stringify(text)} is not a duration from ${durationText(min)} to ${durationText(max)}`,
    { field: '--timeout', remedy: 'a whole number and its unit: 90s, 10m, 2h' },
  );
}

function checkedKey(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const parsed = idempotencyKeySchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw usageError(parsed.error.issues[0]?.message ?? 'is wrong', { field: '--idempotency-key' });
}

function showHandle({ output }: CommandContext, handle: ExecutionHandle): void {
  output.value(handle);
  output.line(`${handle.executionId} accepted for ${tripleName(handle.engine)}`);
  output.line(output.paint('dim', `follow it: nexusdesk tail ${handle.executionId}`));
}

/**
 * Ctrl-C while a run is started and followed: the first asks for the run's cancellation and goes on following it to
 * its end, the second stops following and leaves the run to itself.
 */
class RunInterrupt {
  readonly #context: CommandContext;
  readonly #client: NexusDeskClient;
  readonly #idempotencyKey: string;
  readonly #stop = new AbortController();
  readonly #release: () => void;
  #runId: RunId | undefined;
  #count = 0;

  constructor(context: CommandContext, client: NexusDeskClient, idempotencyKey: string) {
    this.#context = context;
    this.#client = client;
    this.#idempotencyKey = idempotencyKey;
    this.#release = context.host.onInterrupt(() => this.#interrupt());
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get happened(): boolean {
    return this.#count > 0;
  }

  /** From here on there is something to cancel; if Ctrl-C came before, it is done now. */
  runAccepted(runId: RunId): void {
    this.#runId = runId;
    if (this.happened) this.#cancel(runId);
  }

  /** 130 when Ctrl-C is why the run ended; a run that was faster ended as it did. */
  exitCode(status: TerminalStatus): number {
    return this.happened && status === 'cancelled' ? EXIT.interrupted : exitCodeOfRun(status);
  }

  close(): void {
    this.#release();
  }

  #interrupt(): void {
    this.#count += 1;
    const { output } = this.#context;
    if (this.#count === 1) {
      output.notice('cancelling', 'cancelling the run; press Ctrl-C again to leave it to itself');
      if (this.#runId) this.#cancel(this.#runId);
      return;
    }
    this.#stop.abort(
      new Interrupted(
        this.#runId
          ? `no longer following; nexusdesk tail ${this.#runId} shows how it goes on`
          : `the run may have been accepted; the same command with --idempotency-key ${this.#idempotencyKey} finds it`,
      ),
    );
  }

  #cancel(runId: RunId): void {
    const reason = 'interrupted at the terminal';
    this.#client.cancelRun(runId, { reason }, { signal: this.signal }).catch((error: unknown) => {
      // It ended first, or we were told to leave: neither is a fault.
      if (this.signal.aborted) return;
      if (error instanceof ApiError && error.code === 'already_terminal') return;
      const { message } = reportOf(error);
      this.#context.output.notice('cancel_failed', `the run could not be cancelled: ${message}`);
    });
  }
}
