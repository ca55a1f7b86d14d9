import {
  type ClaimReply,
  type Directive,
  type ExecutionError,
  type ExecutionResult,
  executionError,
  type HeartbeatReply,
  type NewEvent,
  platformEvent,
  type ResultReply,
  toPlatformError,
} from '#shared/contracts/index.ts';
import { isoTime } from '#shared/kit/clock.ts';
import type { StopReason } from '#shared/process/index.ts';
import { deliverResult } from './deliver-result.ts';
import { EventPump } from './event-pump.ts';
import { GatewayRefused, GatewayUnreachable } from './gateway-client.ts';
import { Heartbeat } from './heartbeat.ts';
import { DEFAULT_WAITING, type WaitingLimits } from './host-limits.ts';
import type { HostOptions } from './host-options.ts';
import type { StartedEngine } from './start-engine.ts';

/** Why the engine was stopped although nobody asked for it: both allow another attempt. */
type Interruption = 'task_stopped' | 'fenced';

/** After the run's deadline a host tries to report for this long; its token is good for twice as long. */
const REPORT_GRACE_MS = 5 * 60_000;
/** A task that is told to stop has little time: whoever does not say why within this has no reason. */
const ASK_WHY_MS = 3_000;
const BEAT_TIMEOUT_MS = 10_000;

/** One run from its claim to its reported end, or to the loss of authority over it. */
export class ClaimedRun {
  readonly #options: HostOptions;
  readonly #claim: ClaimReply;
  readonly #waiting: WaitingLimits;
  readonly #pump: EventPump;
  readonly #heartbeat: Heartbeat;
  /** Aborted with the reason when nothing this host says counts any more. */
  readonly #lost = new AbortController();
  readonly #eventsGivenUp = new AbortController();
  #engine: StartedEngine | undefined;
  /** The first reason stays. */
  #stop: { reason: StopReason; atOnce: boolean } | undefined;
  #interruption: Interruption | undefined;
  #engineEnded = false;
  #delivering = false;

  constructor(options: HostOptions, claim: ClaimReply) {
    const { gateway, clock } = options;
    const { executionToken: token, lease } = claim;
    const runId = claim.request.executionId;
    const untilAnswered = { retryForMs: Number.POSITIVE_INFINITY };
    const onDirective = (directive: Directive) => this.#obey(directive);
    this.#options = options;
    this.#claim = claim;
    this.#waiting = { ...DEFAULT_WAITING, ...options.waiting };
    const { memoryBytes, stallMs, uploadGiveUpMs } = this.#waiting;
    this.#pump = new EventPump({
      cursor: claim.cursor,
      send: (request, signal) =>
        gateway.append(token, runId, request, { signal, ...untilAnswered }),
      upload: (request, signal) =>
        gateway.uploadBlob(token, runId, request, { signal, retryForMs: uploadGiveUpMs }),
      isReachable: () => this.#heartbeat.isReaching,
      onDirective,
      onFailure: (error) => this.#lose(error),
      onFault: options.onFault,
      ...(options.spool ? { spool: options.spool } : {}),
      memoryBytes,
      stallMs,
      clock,
    });
    this.#heartbeat = new Heartbeat({
      everyMs: lease.heartbeatEveryMs,
      fenceAfterMs: lease.fenceAfterMs,
      beat: (signal) => this.#beat(signal),
      onDirective,
      onRenewed: () => this.#onRenewed(),
      onSilence: () => this.#fence(),
      onFailure: (error) => this.#onBeatRefused(error),
      clock,
    });
  }

  /** @throws AuthorityLost, GatewayUnreachable, GatewayRefused when the result was not taken */
  async live(claimedAtMs: number): Promise<ResultReply> {
    const { clock, gateway, taskStopping } = this.#options;
    const { executionToken: token, request } = this.#claim;
    const overAt = Date.parse(request.deadlineAt) + REPORT_GRACE_MS;
    const over = setTimeout(
      () => this.#lose(new GatewayUnreachable('nobody took the result in time')),
      Math.max(0, overAt - clock.now()),
    );
    let hurry: NodeJS.Timeout | undefined;
    this.#heartbeat.start(claimedAtMs);
    this.#watchTask();
    try {
      const result = await this.#runEngine();
      this.#engineEnded = true;
      this.#lost.signal.throwIfAborted();
      whenAborted(taskStopping, () => {
        hurry = setTimeout(() => this.#giveEventsUp(), this.#waiting.hurryMs);
      });
      const rest = await this.#pump.drain(this.#eventsGivenUp.signal);
      this.#lost.signal.throwIfAborted();
      this.#delivering = true;
      return await deliverResult({
        send: (body, retryForMs) =>
          gateway.result(token, request.executionId, body, {
            signal: this.#lost.signal,
            retryForMs,
          }),
        isReachable: () => this.#heartbeat.isReaching,
        onFault: this.#options.onFault,
        ...rest,
        result,
      });
    } finally {
      clearTimeout(over);
      clearTimeout(hurry);
      this.#heartbeat.stop();
      this.#pump.stop();
    }
  }

  async #runEngine(): Promise<ExecutionResult> {
    const { clock, sandbox, startEngine, onFault } = this.#options;
    const { attempt } = this.#claim.request;
    const emit = (events: readonly NewEvent[]) => this.#pump.push(events);
    const at = { timestamp: isoTime(clock.now()) };
    await emit([platformEvent('run.started', { attempt, sandbox }, at)]);
    try {
      const engine = await startEngine(this.#claim, { emit });
      this.#engine = engine;
      // A reason to stop may have come while everything was being made ready.
      if (this.#stop) engine.stop(this.#stop.reason, this.#stop);
      const result = await engine.ended;
      return this.#interruption ? interruptedResult(result, this.#interruption) : result;
    } catch (error) {
      const { record } = toPlatformError(error);
      if (record.code === 'internal') onFault(error);
      return failedResult(record);
    }
  }

  #stopEngine(reason: StopReason, options: { atOnce: boolean }): void {
    this.#stop ??= { reason, ...options };
    this.#engine?.stop(reason, options);
  }

  #obey(directive: Directive): void {
    if (directive.kind === 'cancel') this.#stopEngine('cancelled', { atOnce: false });
  }

  /** TRM-2: another attempt or an ending took the run over, or nobody will listen any more. */
  #lose(reason: unknown): void {
    if (this.#lost.signal.aborted) return;
    this.#lost.abort(reason);
    this.#pump.stop();
    this.#heartbeat.stop();
    this.#stopEngine('cancelled', { atOnce: true });
  }

  /** The run may have ended by the very result that is on its way: then the answer to that counts, not this one. */
  #onBeatRefused(error: unknown): void {
    if (!this.#delivering) this.#lose(error);
  }

  /** ORC-4: before the platform may start another engine, this one is dead. */
  #fence(): void {
    if (this.#engineEnded || this.#stop) return;
    this.#interruption = 'fenced';
    this.#stopEngine('cancelled', { atOnce: true });
  }

  /** A task is stopped for a cancel or by the infrastructure; only the platform knows, so it is asked before acting. */
  #watchTask(): void {
    const { taskStopping } = this.#options;
    const onStop = async () => {
      await Promise.race([this.#heartbeat.beatNow(), elapsed(ASK_WHY_MS)]);
      if (!this.#stop) this.#interruption = 'task_stopped';
      this.#stopEngine('cancelled', { atOnce: false });
    };
    whenAborted(taskStopping, () => void onStop());
  }

  async #beat(signal: AbortSignal): Promise<HeartbeatReply> {
    const { gateway, hostRssBytes, onFault } = this.#options;
    const { executionToken: token, request } = this.#claim;
    const state = this.#engineEnded ? 'reporting' : (this.#engine?.state ?? 'start');
    const options = { signal, retryForMs: 0, requestTimeoutMs: BEAT_TIMEOUT_MS };
    const measured = await this.#engine?.measure?.().catch(() => undefined);
    const health = {
      ...(hostRssBytes ? { hostRssBytes: hostRssBytes() } : {}),
      ...(measured
        ? { engineBytes: measured.memoryBytes, engineProcesses: measured.processes }
        : {}),
      ...this.#pump.pending,
    };
    try {
      return await gateway.heartbeat(token, request.executionId, { state, health }, options);
    } catch (error) {
      if (!(error instanceof GatewayRefused)) throw error;
      // The lease matters, the numbers do not.
      onFault(error);
      return await gateway.heartbeat(token, request.executionId, { state }, options);
    }
  }

  #onRenewed(): void {
    const { eventsGiveUpMs } = this.#waiting;
    if (this.#engineEnded && this.#pump.stalledMs >= eventsGiveUpMs) this.#giveEventsUp();
  }

  #giveEventsUp(): void {
    this.#eventsGivenUp.abort(new Error('events are not stored'));
  }
}

function interruptedResult(result: ExecutionResult, interruption: Interruption): ExecutionResult {
  if (result.status !== 'cancelled') return result;
  const message =
    interruption === 'fenced'
      ? 'the host could not renew its lease and stopped the engine before another attempt begins'
      : 'the task was stopped by the infrastructure';
  const error = executionError('host_lost', message, { sideEffects: 'maybe' });
  return { ...result, status: 'failed', error };
}

function failedResult(error: ExecutionError): ExecutionResult {
  return {
    schemaVersion: '1',
    status: error.class === 'Timeout' ? 'timed_out' : 'failed',
    output: null,
    artifacts: [],
    usage: {},
    metadata: {},
    error,
  };
}

function whenAborted(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true });
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
