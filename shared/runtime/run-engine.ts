import { type ExecutionResult, type NewEvent, platformEvent } from '#shared/contracts/index.ts';
import type { EngineEnding, EngineExecution, Translation } from '#shared/engines/index.ts';
import { type Clock, isoTime } from '#shared/kit/clock.ts';
import {
  type ByteMasker,
  type PreparedSandbox,
  type ProcessLimits,
  type ProcessOutcome,
  type ProcessState,
  type ProcessStateChange,
  type StopReason,
  superviseProcess,
  type TreeUse,
} from '#shared/process/index.ts';

export interface RunEngineOptions {
  readonly execution: EngineExecution;
  readonly sandbox: PreparedSandbox;
  readonly workdir: string;
  readonly limits: ProcessLimits;
  readonly graceMs: number;
  readonly masker: ByteMasker;
  readonly clock: Clock;
  /** Takes events in order; a slow taker slows the engine down. */
  readonly emit: (events: readonly NewEvent[]) => Promise<void>;
}

export interface RunningEngine {
  /** Asks the engine to stop, then makes it (`atOnce`: makes it); the first call counts. */
  stop(reason: StopReason, options?: { readonly atOnce: boolean }): void;
  readonly state: ProcessState;
  measure(): Promise<TreeUse | undefined>;
  readonly ended: Promise<{ readonly result: ExecutionResult; readonly outcome: ProcessOutcome }>;
}

/**
 * Drives one engine process from its start to its result: supervises it, gives each record to the translator, stops
 * it when it does what the run may not do, and asks the translator for the result once nothing of it is left.
 */
export function runEngine(options: RunEngineOptions): RunningEngine {
  const { execution, sandbox, clock, emit } = options;
  const { launch, translator } = execution;
  const supervised = superviseProcess(
    {
      argv: launch.argv,
      cwd: options.workdir,
      env: { ...launch.env, ...sandbox.environment },
      stdin: launch.stdin === '' ? 'closed' : { text: launch.stdin },
      limits: options.limits,
      masker: options.masker,
      graceMs: options.graceMs,
      interruptSignal: launch.interruptSignal,
    },
    sandbox,
    {
      onRecord: async (record) => {
        const translation = translator.onRecord({
          text: record.text,
          truncatedBytes: record.truncatedBytes,
          invalidUtf8: record.invalidUtf8,
          unterminated: record.unterminated,
          at: isoTime(clock.now()),
        });
        await emit(translation.events);
        stopFor(translation);
      },
      onState: (change) => void emit([stateEvent(change)]),
    },
  );

  function stopFor(translation: Translation): void {
    if (translation.violation) void supervised.stop({ reason: 'capability_violation' });
    else if (translation.budgetExhausted) void supervised.stop({ reason: 'budget_exhausted' });
  }

  return {
    stop: (reason, { atOnce } = { atOnce: false }) =>
      void supervised.stop({ reason, ...(atOnce ? { graceMs: 0 } : {}) }),
    get state() {
      return supervised.state;
    },
    measure: () => supervised.measure(),
    ended: supervised.outcome.then(async (outcome) => {
      const concluded = translator.conclude(endingOf(outcome, clock));
      await emit(concluded.events);
      return { result: concluded.result, outcome };
    }),
  };
}

function endingOf(outcome: ProcessOutcome, clock: Clock): EngineEnding {
  return {
    cause: outcome.cause,
    exitCode: outcome.exit.code,
    signal: outcome.exit.signal,
    ...(outcome.failure ? { message: outcome.failure.message } : {}),
    stderrTail: outcome.stderrTail,
    at: isoTime(clock.now()),
  };
}

function stateEvent(change: ProcessStateChange): NewEvent {
  return platformEvent('host.state_changed', { state: change.state }, { timestamp: change.at });
}
