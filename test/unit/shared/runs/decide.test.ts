import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ERROR_CLASSES,
  ERROR_CODES,
  executionError,
  isTerminal,
  RUN_STATUSES,
  TERMINAL_STATUSES,
} from '#shared/contracts/index.ts';
import { canTransition, decide, type Evidence, type RunHead } from '#shared/runs/index.ts';
import { completedResult, queuedHead } from '#test/support/run-builders.ts';

const head = (fields: Partial<RunHead>): RunHead =>
  queuedHead({ epoch: 1, attempt: 1, hostInstanceId: 'host-aaaa', ...fields });
const failed = (
  code: Parameters<typeof executionError>[0],
  sideEffects: 'none' | 'maybe' = 'none',
) =>
  completedResult({
    status: 'failed',
    output: null,
    error: executionError(code, 'why', { sideEffects }),
  });
const result = (value = completedResult(), epoch = 1): Evidence => ({
  kind: 'host_result',
  epoch,
  result: value,
});
const stopped: Evidence = {
  kind: 'task_stopped',
  epoch: 1,
  reason: 'exit code 137',
  outOfMemory: false,
};
const expired = (task: 'running' | 'stopped' | 'missing' | 'unknown'): Evidence => ({
  kind: 'lease_expired',
  epoch: 1,
  task,
});

/** Every race the ledger can see, with the one ending it may have. */
const TABLE: [string, Partial<RunHead>, Evidence, string][] = [
  ['a result ends a running run', { status: 'running' }, result(), 'completed'],
  [
    'TRM-2 a result of an older epoch is nothing',
    { status: 'running', epoch: 2 },
    result(),
    'stay',
  ],
  ['TRM-1 a late success does not undo a cancel', { status: 'cancelled' }, result(), 'stay'],
  [
    'B110 a success after an accepted cancel ends cancelled',
    { status: 'cancelling' },
    result(),
    'cancelled',
  ],
  [
    'a timeout after an accepted cancel stays a timeout',
    { status: 'cancelling' },
    result(
      completedResult({ status: 'timed_out', error: executionError('run_timed_out', 'late') }),
    ),
    'timed_out',
  ],
  [
    'a queued run is cancelled at once',
    { status: 'queued' },
    { kind: 'cancel_requested' },
    'cancelled',
  ],
  [
    'a running run is not ended by a cancel request',
    { status: 'running' },
    { kind: 'cancel_requested' },
    'stay',
  ],
  ['B100 silence with a live task is no ending', { status: 'running' }, expired('running'), 'stay'],
  ['silence with an unknown task is no ending', { status: 'running' }, expired('unknown'), 'stay'],
  [
    'a silent host whose task is gone is lost',
    { status: 'running' },
    expired('missing'),
    'failed host_lost',
  ],
  ['a stopped task without a result is lost', { status: 'running' }, stopped, 'failed host_lost'],
  [
    'a lost repeatable run is tried again',
    { status: 'running', repeatable: true },
    stopped,
    'requeue host_lost',
  ],
  [
    'a lost repeatable run ends when its attempts are spent',
    { status: 'running', repeatable: true, attempt: 3 },
    stopped,
    'failed host_lost',
  ],
  [
    'B43 out of memory is said so',
    { status: 'running' },
    { ...stopped, outOfMemory: true } as Evidence,
    'failed memory_limit',
  ],
  [
    'B71 a task that died before its host came is launched again',
    { status: 'starting' },
    stopped,
    'requeue launch_failed',
  ],
  [
    'a task that never reported is launched again',
    { status: 'starting' },
    expired('running'),
    'requeue launch_failed',
  ],
  [
    'B70 a refused launch is tried again',
    { status: 'starting' },
    {
      kind: 'launch_failed',
      epoch: 1,
      error: executionError('launch_failed', 'capacity'),
      permanent: false,
    },
    'requeue launch_failed',
  ],
  [
    'a permanent refusal is final',
    { status: 'starting' },
    {
      kind: 'launch_failed',
      epoch: 1,
      error: executionError('launch_failed', 'no image'),
      permanent: true,
    },
    'failed launch_failed',
  ],
  [
    'B56 a dead letter ends a queued run',
    { status: 'queued' },
    { kind: 'poison_message', reason: 'm1' },
    'failed dead_lettered',
  ],
  [
    'B64 a dead letter does not touch a running run',
    { status: 'running' },
    { kind: 'poison_message', reason: 'm1' },
    'stay',
  ],
  [
    'the deadline ends a queued run',
    { status: 'queued' },
    { kind: 'deadline_passed', task: 'missing' },
    'timed_out',
  ],
  [
    'the deadline ends a running run',
    { status: 'running' },
    { kind: 'deadline_passed', task: 'running' },
    'timed_out',
  ],
  [
    'the deadline ends a cancelling run as cancelled',
    { status: 'cancelling' },
    { kind: 'deadline_passed', task: 'running' },
    'cancelled',
  ],
  [
    'B103 a cancelling run whose task is alive stays',
    { status: 'cancelling' },
    expired('running'),
    'stay',
  ],
  [
    'a cancelling run whose task is gone is cancelled',
    { status: 'cancelling' },
    stopped,
    'cancelled',
  ],
  [
    'a cancelling run that nobody claimed is cancelled',
    { status: 'cancelling' },
    { kind: 'never_claimed', epoch: 1 },
    'cancelled',
  ],
  [
    'ORC-7 a model that is down is tried again when nothing was touched',
    { status: 'running' },
    result(failed('model_unavailable')),
    'requeue model_unavailable',
  ],
  [
    'CON-4 not when something may have been touched',
    { status: 'running' },
    result(failed('model_unavailable', 'maybe')),
    'failed model_unavailable',
  ],
  [
    'CON-4 but when the task may repeat',
    { status: 'running', repeatable: true },
    result(failed('model_unavailable', 'maybe')),
    'requeue model_unavailable',
  ],
  [
    'B166 a permanent input error is not tried again',
    { status: 'running', repeatable: true },
    result(failed('argument_invalid')),
    'failed argument_invalid',
  ],
  [
    'a refused credential is not tried again',
    { status: 'running', repeatable: true },
    result(failed('model_unauthenticated')),
    'failed model_unauthenticated',
  ],
];

function inWords(from: RunHead, evidence: Evidence): string {
  const decision = decide(from, evidence);
  if (decision.action === 'stay') return 'stay';
  if (decision.action === 'requeue') return `requeue ${decision.error.code}`;
  return decision.status === 'failed' ? `failed ${decision.error?.code}` : decision.status;
}

describe('decide', () => {
  it.each(TABLE)('%s', (_name, fields, evidence, expected) => {
    expect(inWords(head(fields), evidence)).toBe(expected);
  });

  it('keeps a late result as evidence, not as the outcome', () => {
    const decision = decide(head({ status: 'cancelling' }), result());
    expect(decision).toMatchObject({
      action: 'terminal',
      status: 'cancelled',
      evidence: completedResult(),
    });
    expect(decision).not.toHaveProperty('result');
  });

  const evidences: fc.Arbitrary<Evidence> = fc.oneof(
    fc.record({
      kind: fc.constant('host_result' as const),
      epoch: fc.integer({ min: 0, max: 3 }),
      result: fc.oneof(
        fc.constant(completedResult()),
        fc
          .constantFrom(...ERROR_CODES)
          .chain((code) =>
            fc
              .constantFrom('none' as const, 'maybe' as const)
              .map((sideEffects) => failed(code, sideEffects)),
          ),
      ),
    }),
    fc.record({
      kind: fc.constant('task_stopped' as const),
      epoch: fc.integer({ min: 0, max: 3 }),
      reason: fc.string(),
      outOfMemory: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant('lease_expired' as const),
      epoch: fc.integer({ min: 0, max: 3 }),
      task: fc.constantFrom(
        'running' as const,
        'stopped' as const,
        'missing' as const,
        'unknown' as const,
      ),
    }),
    fc.record({
      kind: fc.constant('deadline_passed' as const),
      task: fc.constant('unknown' as const),
    }),
    fc.record({ kind: fc.constant('cancel_requested' as const) }),
    fc.record({ kind: fc.constant('poison_message' as const), reason: fc.string() }),
    fc.record({
      kind: fc.constant('never_claimed' as const),
      epoch: fc.integer({ min: 0, max: 3 }),
    }),
  );
  const heads = fc.record({
    status: fc.constantFrom(...RUN_STATUSES),
    attempt: fc.integer({ min: 0, max: 5 }),
    repeatable: fc.boolean(),
  });

  it('TRM-1 never leaves a terminal status, and only makes transitions the table allows', () => {
    fc.assert(
      fc.property(heads, evidences, (fields, evidence) => {
        const from = head(fields);
        const decision = decide(from, evidence);
        if (isTerminal(from.status)) expect(decision).toEqual({ action: 'stay' });
        if (decision.action === 'terminal') {
          expect(canTransition(from.status, decision.status)).toBe(true);
          expect(TERMINAL_STATUSES).toContain(decision.status);
          if (decision.status !== 'completed') expect(decision.error).toBeDefined();
        }
        if (decision.action === 'requeue') {
          expect(canTransition(from.status, 'queued')).toBe(true);
          expect(from.attempt).toBeLessThan(from.maxAttempts);
          expect(ERROR_CLASSES[decision.error.class].retry).not.toBe('never');
          if (decision.error.sideEffects === 'maybe') expect(from.repeatable).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
