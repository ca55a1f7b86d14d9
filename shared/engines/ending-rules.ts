import {
  type ErrorCode,
  type ErrorOptions,
  type ExecutionError,
  executionError,
  type PlatformError,
  type SideEffects,
  type TerminalStatus,
} from '#shared/contracts/index.ts';
import { boundTail, stripAnsi } from './bounds.ts';
import type { EngineEnding } from './engine-adapter.ts';

/** How the engine itself said that the run went. */
export type NativeVerdict =
  | { readonly kind: 'completed' }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };

/** Everything that can decide how a run ended. */
export interface EndingEvidence {
  readonly engineName: string;
  readonly ending: EngineEnding;
  /** What the translator stopped the engine for; kept, because the engine may have ended before it was stopped. */
  readonly stoppedFor: PlatformError | undefined;
  /** The last terminal event of the engine. */
  readonly verdict: NativeVerdict | undefined;
  /** Something came out on stdout. */
  readonly spoke: boolean;
  readonly sideEffects: SideEffects;
}

export interface Outcome {
  readonly status: TerminalStatus;
  readonly error?: ExecutionError;
  /** Name of the rule that decided. */
  readonly rule: string;
}

interface EndingRule {
  readonly name: string;
  readonly why: string;
  readonly applies: (evidence: EndingEvidence) => boolean;
  readonly outcome: (evidence: EndingEvidence) => Omit<Outcome, 'rule'>;
}

/**
 * The precedence of all evidence, one table for all engines; the first rule that applies decides. Above the
 * engine's own word stands what the host did to it, below it what its process left behind.
 */
export const ENDING_RULES: readonly EndingRule[] = [
  {
    name: 'spawn_failed',
    why: 'Nothing ran.',
    applies: ({ ending }) => ending.cause === 'spawn_failed',
    outcome: ({ ending, engineName }) =>
      failed('engine_start_failed', ending.message ?? `${engineName} could not be started`, 'none'),
  },
  {
    name: 'cancelled_by_host',
    why: 'After an accepted cancel nothing the engine says is a success (TRM-1, B20, B31).',
    applies: ({ ending }) => ending.cause === 'cancelled',
    outcome: ({ sideEffects }) => ({
      status: 'cancelled',
      error: executionError('run_cancelled', 'the run was cancelled', { sideEffects }),
    }),
  },
  {
    name: 'timed_out_by_host',
    why: 'The deadline has passed; how far the work got is not known.',
    applies: ({ ending }) => ending.cause === 'timed_out',
    outcome: () => ({
      status: 'timed_out',
      error: executionError('run_timed_out', 'the run reached its deadline and was stopped'),
    }),
  },
  {
    name: 'budget_exhausted',
    why: 'A limit of the run is used up, even when the engine ended by itself before it was stopped.',
    applies: ({ stoppedFor }) => stoppedFor?.code === 'budget_exhausted',
    outcome: ({ stoppedFor, sideEffects }) => ({
      status: 'budget_exhausted',
      error: withSideEffects(stoppedFor, sideEffects),
    }),
  },
  {
    name: 'violation',
    why: 'The engine did what this run may not do: its success is worth nothing (CAP-3).',
    applies: ({ stoppedFor, ending }) =>
      stoppedFor !== undefined || ending.cause === 'capability_violation',
    outcome: ({ stoppedFor, sideEffects }) => ({
      status: 'failed',
      error:
        withSideEffects(stoppedFor, sideEffects) ??
        executionError('capability_violation', 'the engine did what this run may not do', {
          sideEffects: 'maybe',
        }),
    }),
  },
  {
    name: 'memory_limit',
    why: 'The host killed it; a terminal event before that does not undo the limit.',
    applies: ({ ending }) => ending.cause === 'memory_limit',
    outcome: ({ ending, sideEffects }) =>
      failed('memory_limit', ending.message ?? 'the run used more memory than it may', sideEffects),
  },
  {
    name: 'output_limit',
    why: 'The host killed it and the output is incomplete.',
    applies: ({ ending }) => ending.cause === 'output_limit',
    outcome: ({ ending, sideEffects }) =>
      failed(
        'output_limit',
        ending.message ?? 'the run produced more output than it may',
        sideEffects,
      ),
  },
  {
    name: 'native_failure',
    why: 'The engine reported a failure; an exit code of 0 does not make it a success (B04).',
    applies: ({ verdict }) => verdict?.kind === 'failed',
    outcome: ({ verdict, sideEffects }) =>
      verdict?.kind === 'failed'
        ? failed(verdict.code, verdict.message, sideEffects)
        : failed('engine_failed', 'the engine failed', sideEffects),
  },
  {
    name: 'native_success',
    why: 'The engine reported success; trouble while it exited is an anomaly, no failure (B05).',
    applies: ({ verdict }) => verdict?.kind === 'completed',
    outcome: () => ({ status: 'completed' }),
  },
  {
    name: 'ended_before_first_word',
    why: 'It never got to work: wrong arguments, unreadable configuration, missing files.',
    applies: ({ spoke, ending }) => !spoke && ending.exitCode !== 0,
    outcome: ({ engineName, ending }) =>
      silentEnd(
        'engine_start_failed',
        `${engineName} ${describeExit(ending)} before its first word`,
        ending,
        'none',
      ),
  },
  {
    name: 'ended_without_verdict',
    why: 'Silence is not success, whatever the exit code says (B13, B152).',
    applies: () => true,
    outcome: ({ engineName, ending, sideEffects }) =>
      silentEnd(
        'engine_crashed',
        `${engineName} ${describeExit(ending)} without saying how the run went`,
        ending,
        sideEffects,
      ),
  },
];

/** Decides by {@link ENDING_RULES}; its last rule always applies. */
export function decideOutcome(evidence: EndingEvidence): Outcome {
  for (const rule of ENDING_RULES) {
    if (rule.applies(evidence)) return { ...rule.outcome(evidence), rule: rule.name };
  }
  throw new TypeError('the last ending rule must always apply');
}

export function describeExit(ending: EngineEnding): string {
  if (ending.signal !== null) return `was ended by ${ending.signal}`;
  return `ended with exit code ${ending.exitCode ?? 'unknown'}`;
}

/** Room for the end of stderr in a message and in the details of an error, in bytes. */
const STDERR_IN_MESSAGE = 300;
const STDERR_IN_DETAILS = 1_500;

/** Stderr is shown to people, never read as protocol: it may hold anything that passed by (B10). */
function silentEnd(
  code: ErrorCode,
  what: string,
  ending: EngineEnding,
  sideEffects: SideEffects,
): Omit<Outcome, 'rule'> {
  const stderr = stripAnsi(ending.stderrTail).trim();
  const { exitCode, signal } = ending;
  if (stderr === '') return failed(code, what, sideEffects, { details: { exitCode, signal } });
  const line = boundTail(stderr.replaceAll(/\s+/g, ' '), STDERR_IN_MESSAGE);
  const stderrTail = boundTail(stderr, STDERR_IN_DETAILS);
  return failed(code, `${what}: ${line}`, sideEffects, {
    details: { exitCode, signal, stderrTail },
  });
}

function failed(
  code: ErrorCode,
  message: string,
  sideEffects: SideEffects,
  options: ErrorOptions = {},
): Omit<Outcome, 'rule'> {
  return { status: 'failed', error: executionError(code, message, { ...options, sideEffects }) };
}

function withSideEffects(
  error: PlatformError | undefined,
  sideEffects: SideEffects,
): ExecutionError | undefined {
  return error && { ...error.record, sideEffects };
}
