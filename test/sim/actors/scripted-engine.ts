import {
  type ClaimReply,
  type ExecutionResult,
  executionError,
  type NewEvent,
  platformEvent,
} from '#shared/contracts/index.ts';
import type { EngineContext, StartEngine, StartedEngine } from '#shared/runtime/index.ts';
import type { EngineScript } from './run-plan.ts';

/** What an engine tells the checks about itself. */
export interface EngineWitness {
  started(claim: ClaimReply): void;
  /** Handed to the host: `marker` is in the event's payload. */
  produced(claim: ClaimReply, marker: string): void;
  ended(claim: ClaimReply, result: ExecutionResult): void;
}

/** Of an engine that does not listen; and the time it takes to be killed. */
const GRACE_MS = 5_000;
const KILL_MS = 50;

type StopReason = Parameters<StartedEngine['stop']>[0];
type EngineState = StartedEngine['state'];

/**
 * An engine without a process: does what its script says over virtual time, in the place where the real host starts one
 * ({@link StartEngine}). It enforces its run's deadline as the supervisor of real engines does.
 */
export function scriptedEngines(
  hostName: string,
  scriptFor: (claim: ClaimReply) => EngineScript,
  witness: EngineWitness,
): StartEngine {
  return async (claim, context) => {
    await wait(5);
    witness.started(claim);
    return new ScriptedEngine(hostName, claim, scriptFor(claim), context, witness);
  };
}

class ScriptedEngine implements StartedEngine {
  readonly ended: Promise<ExecutionResult>;
  state: EngineState = 'running';
  readonly #claim: ClaimReply;
  readonly #script: EngineScript;
  readonly #context: EngineContext;
  readonly #witness: EngineWitness;
  readonly #hostName: string;
  readonly #stopped: Promise<StopReason>;
  #tellStopped: (reason: StopReason) => void = () => undefined;
  #produced = 0;
  #graceMs = 0;

  constructor(
    hostName: string,
    claim: ClaimReply,
    script: EngineScript,
    context: EngineContext,
    witness: EngineWitness,
  ) {
    this.#hostName = hostName;
    this.#claim = claim;
    this.#script = script;
    this.#context = context;
    this.#witness = witness;
    this.#stopped = new Promise((resolve) => {
      this.#tellStopped = resolve;
    });
    this.ended = this.#live();
  }

  stop(reason: StopReason, { atOnce }: { atOnce: boolean }): void {
    this.#graceMs = atOnce ? KILL_MS : (this.#script.stopsAfterMs ?? GRACE_MS);
    this.#tellStopped(reason);
  }

  async #live(): Promise<ExecutionResult> {
    const left = Date.parse(this.#claim.request.deadlineAt) - Date.now();
    const limit = setTimeout(() => this.stop('timed_out', { atOnce: false }), Math.max(1, left));
    const reason = await Promise.race([this.#perform(), this.#stopped]);
    clearTimeout(limit);
    if (reason !== 'by_itself') await wait(this.#graceMs);
    this.state = 'exited';
    await this.#emit([this.#message('last words', true)]);
    const result = this.#result(reason);
    this.#witness.ended(this.#claim, result);
    return result;
  }

  async #perform(): Promise<'by_itself' | StopReason> {
    for (const step of this.#script.steps) {
      await wait(step.afterMs);
      if (this.state === 'exited') return 'by_itself';
      const text = 'x'.repeat(step.bytes);
      await this.#emit(Array.from({ length: step.events }, () => this.#message(text, step.urgent)));
    }
    if (this.#script.end.kind === 'hang') return this.#stopped;
    return 'by_itself';
  }

  #message(text: string, urgent: boolean): NewEvent {
    this.#produced += 1;
    const marker = `${this.#hostName}/${this.#produced}`;
    const timestamp = new Date().toISOString();
    return urgent
      ? platformEvent(
          'execution.diagnostic',
          { kind: 'engine_notice', message: marker },
          { timestamp },
        )
      : platformEvent(
          'message.completed',
          { messageId: marker, role: 'assistant', text },
          { timestamp },
        );
  }

  async #emit(events: readonly NewEvent[]): Promise<void> {
    for (const event of events) this.#witness.produced(this.#claim, markerOf(event) ?? '');
    await this.#context.emit(events);
  }

  #result(reason: 'by_itself' | StopReason): ExecutionResult {
    const base = {
      schemaVersion: '1' as const,
      output: null,
      artifacts: [],
      usage: this.#script.usage,
      metadata: { host: this.#hostName },
    };
    const failed = (
      status: 'failed' | 'cancelled' | 'timed_out' | 'budget_exhausted',
      error: ExecutionResult['error'],
    ): ExecutionResult => ({ ...base, status, ...(error ? { error } : {}) });
    switch (reason) {
      case 'by_itself':
        return this.#ownEnd(base, failed);
      case 'timed_out':
        return failed('timed_out', executionError('run_timed_out', 'the engine was out of time'));
      case 'budget_exhausted':
        return failed('budget_exhausted', executionError('budget_exhausted', 'over its budget'));
      default:
        return failed(
          'cancelled',
          executionError('run_cancelled', `stopped: ${reason}`, { sideEffects: 'maybe' }),
        );
    }
  }

  #ownEnd(
    base: Omit<ExecutionResult, 'status'>,
    failed: (
      status: 'failed' | 'cancelled' | 'budget_exhausted',
      error: ExecutionResult['error'],
    ) => ExecutionResult,
  ): ExecutionResult {
    const { end } = this.#script;
    switch (end.kind) {
      case 'abort':
        return failed('cancelled', executionError('run_cancelled', 'the engine gave up by itself'));
      case 'budget':
        return failed('budget_exhausted', executionError('budget_exhausted', 'over its budget'));
      case 'fail':
        return failed(
          'failed',
          executionError(end.code, 'as its script says', { sideEffects: end.sideEffects }),
        );
      default:
        return { ...base, status: 'completed', output: 'done' };
    }
  }
}

/** By which an event of an engine is recognised wherever it turns up. */
export function markerOf(event: Pick<NewEvent, 'eventType' | 'payload'>): string | undefined {
  const payload = event.payload as { messageId?: string; message?: string };
  if (event.eventType === 'message.completed') return payload.messageId;
  if (event.eventType === 'execution.diagnostic') {
    return payload.message?.includes('/') ? payload.message : undefined;
  }
  return undefined;
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
