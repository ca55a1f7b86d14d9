import { describe, expect, it } from 'vitest';
import { PlatformError } from '#shared/contracts/index.ts';
import { decideOutcome, ENDING_RULES, type EndingEvidence } from '#shared/engines/ending-rules.ts';
import { ending } from './support.ts';

const COMPLETED = { kind: 'completed' } as const;
const FAILED = { kind: 'failed', code: 'model_unavailable', message: 'no answer' } as const;
const VIOLATION = new PlatformError('capability_violation', 'ran a command');
const OVERRUN = new PlatformError('budget_exhausted', 'too many calls');

function evidence(overrides: Partial<EndingEvidence> = {}): EndingEvidence {
  return {
    engineName: 'the engine',
    ending: ending(),
    stoppedFor: undefined,
    verdict: undefined,
    spoke: true,
    sideEffects: 'none',
    ...overrides,
  };
}

/** Each row contradicts itself as much as it can: the rule named must win over all that is also true. */
const ROWS: readonly [string, Partial<EndingEvidence>, string, string | undefined][] = [
  [
    'spawn_failed',
    {
      ending: ending({ cause: 'spawn_failed', exitCode: null, message: 'ENOENT' }),
      verdict: COMPLETED,
    },
    'failed',
    'engine_start_failed',
  ],
  [
    'cancelled_by_host',
    { ending: ending({ cause: 'cancelled' }), verdict: COMPLETED, stoppedFor: VIOLATION },
    'cancelled',
    'run_cancelled',
  ],
  [
    'timed_out_by_host',
    { ending: ending({ cause: 'timed_out' }), verdict: COMPLETED, stoppedFor: OVERRUN },
    'timed_out',
    'run_timed_out',
  ],
  [
    'budget_exhausted',
    { stoppedFor: OVERRUN, verdict: COMPLETED },
    'budget_exhausted',
    'budget_exhausted',
  ],
  [
    'budget_exhausted',
    { ending: ending({ cause: 'budget_exhausted' }), stoppedFor: OVERRUN },
    'budget_exhausted',
    'budget_exhausted',
  ],
  ['violation', { stoppedFor: VIOLATION, verdict: COMPLETED }, 'failed', 'capability_violation'],
  [
    'violation',
    { ending: ending({ cause: 'capability_violation' }), verdict: COMPLETED },
    'failed',
    'capability_violation',
  ],
  [
    'memory_limit',
    {
      ending: ending({ cause: 'memory_limit', signal: 'SIGKILL', exitCode: null }),
      verdict: COMPLETED,
    },
    'failed',
    'memory_limit',
  ],
  [
    'output_limit',
    { ending: ending({ cause: 'output_limit' }), verdict: COMPLETED },
    'failed',
    'output_limit',
  ],
  ['native_failure', { verdict: FAILED }, 'failed', 'model_unavailable'],
  [
    'native_success',
    { verdict: COMPLETED, ending: ending({ exitCode: 1 }) },
    'completed',
    undefined,
  ],
  [
    'native_success',
    { verdict: COMPLETED, ending: ending({ exitCode: null, signal: 'SIGSEGV' }) },
    'completed',
    undefined,
  ],
  [
    'ended_before_first_word',
    { spoke: false, ending: ending({ exitCode: 2 }) },
    'failed',
    'engine_start_failed',
  ],
  [
    'ended_before_first_word',
    { spoke: false, ending: ending({ exitCode: null, signal: 'SIGKILL' }) },
    'failed',
    'engine_start_failed',
  ],
  ['ended_without_verdict', { spoke: false }, 'failed', 'engine_crashed'],
  ['ended_without_verdict', { ending: ending({ exitCode: 0 }) }, 'failed', 'engine_crashed'],
  [
    'ended_without_verdict',
    { ending: ending({ exitCode: null, signal: 'SIGKILL' }) },
    'failed',
    'engine_crashed',
  ],
];

describe('the precedence of endings', () => {
  it.each(ROWS)('%s %#', (rule, overrides, status, code) => {
    const outcome = decideOutcome(evidence(overrides));
    expect(outcome).toMatchObject({ rule, status });
    expect(outcome.error?.code).toBe(code);
  });

  it('has a row for every rule', () => {
    expect([...new Set(ROWS.map(([rule]) => rule))].sort()).toEqual(
      [...new Set(ENDING_RULES.map(({ name }) => name))].sort(),
    );
  });

  it('CON-4 a timeout always may have had side effects, others say what is known', () => {
    const timedOut = decideOutcome(evidence({ ending: ending({ cause: 'timed_out' }) }));
    expect(timedOut.error?.sideEffects).toBe('maybe');
    for (const sideEffects of ['none', 'maybe'] as const) {
      const crashed = decideOutcome(evidence({ sideEffects }));
      expect(crashed.error?.sideEffects).toBe(sideEffects);
      const cancelled = decideOutcome(
        evidence({ sideEffects, ending: ending({ cause: 'cancelled' }) }),
      );
      expect(cancelled.error?.sideEffects).toBe(sideEffects);
    }
  });

  it('the end of stderr is in the error, without colours and bounded', () => {
    const stderrTail = `${'x'.repeat(5_000)}\n\u001b[31mreason\u001b[0m`;
    const { error } = decideOutcome(evidence({ ending: ending({ exitCode: 3, stderrTail }) }));
    expect(error?.message.endsWith(' reason')).toBe(true);
    expect(error?.message.length).toBeLessThan(400);
    expect(Buffer.byteLength(String(error?.details?.stderrTail))).toBe(1_500);
  });
});
