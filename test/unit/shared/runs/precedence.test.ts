import { describe, expect, it } from 'vitest';
import {
  ERROR_CODES,
  executionError,
  TERMINAL_STATUSES,
  type TerminalStatus,
} from '#shared/contracts/index.ts';
import {
  canTransition,
  decide,
  type Evidence,
  type EvidenceKind,
  type LiveStatus,
  type Outcome,
  PRECEDENCE,
  type RunHead,
} from '#shared/runs/index.ts';
import { completedResult, queuedHead } from '#test/support/run-builders.ts';

const EPOCH = 2;
const errors = ERROR_CODES.flatMap((code) =>
  (['none', 'maybe'] as const).map((sideEffects) => executionError(code, 'why', { sideEffects })),
);
const TASKS = ['running', 'stopped', 'missing', 'unknown'] as const;

/** Of every kind of evidence, everything that may make a difference. */
const EVIDENCE: { readonly [K in EvidenceKind]: readonly Evidence[] } = {
  host_result: [
    ...TERMINAL_STATUSES.map((status) => resultOf(status)),
    ...errors.map((error) => resultOf('failed', error)),
  ],
  task_stopped: [true, false].map((outOfMemory) => ({
    kind: 'task_stopped',
    epoch: EPOCH,
    reason: 'exit code 1',
    outOfMemory,
  })),
  lease_expired: TASKS.map((task) => ({ kind: 'lease_expired', epoch: EPOCH, task })),
  deadline_passed: TASKS.map((task) => ({ kind: 'deadline_passed', task })),
  cancel_requested: [{ kind: 'cancel_requested' }],
  launch_failed: errors.flatMap((error) =>
    [true, false].map((permanent) => ({
      kind: 'launch_failed' as const,
      epoch: EPOCH,
      error,
      permanent,
    })),
  ),
  never_claimed: [{ kind: 'never_claimed', epoch: EPOCH }],
  poison_message: [
    { kind: 'poison_message', reason: 'm-1' },
    { kind: 'poison_message', reason: 'm-1', error: executionError('internal', 'why') },
  ],
};

function resultOf(
  status: TerminalStatus,
  error = executionError('engine_crashed', 'why'),
): Evidence {
  return {
    kind: 'host_result',
    epoch: EPOCH,
    result: completedResult({ status, ...(status === 'completed' ? {} : { error }) }),
  };
}

const headsOf = (status: LiveStatus): RunHead[] =>
  [1, 2, 3].flatMap((attempt) =>
    [true, false].flatMap((repeatable) =>
      [{}, { hostInstanceId: 'host-aaaa' }].map((host) =>
        queuedHead({ status, attempt, repeatable, epoch: EPOCH, maxAttempts: 3, ...host }),
      ),
    ),
  );

function outcomeOf(head: RunHead, evidence: Evidence): Outcome {
  const decision = decide(head, evidence);
  return decision.action === 'terminal' ? decision.status : decision.action;
}

const ROWS = (Object.keys(PRECEDENCE) as LiveStatus[]).flatMap((status) =>
  (Object.keys(EVIDENCE) as EvidenceKind[]).map((kind) => [status, kind] as const),
);

describe.each(ROWS)('TRM-1 a %s run, told of %s', (status, kind) => {
  const { outcomes } = PRECEDENCE[status][kind];

  it('becomes what the table says, and everything that the table says', () => {
    const seen = headsOf(status).flatMap((head) =>
      EVIDENCE[kind].map((evidence) => outcomeOf(head, evidence)),
    );
    expect([...new Set(seen)].toSorted()).toEqual([...outcomes].toSorted());
  });

  it('becomes nothing that the transitions do not allow', () => {
    const targets = outcomes
      .filter((outcome) => outcome !== 'stay')
      .map((outcome) => (outcome === 'requeue' ? 'queued' : outcome));
    expect(targets.filter((target) => !canTransition(status, target))).toEqual([]);
  });

  it('stays as it is when the evidence is about an older attempt', () => {
    const about = EVIDENCE[kind].filter((evidence) => 'epoch' in evidence);
    const seen = about.map((evidence) =>
      outcomeOf(queuedHead({ status, epoch: EPOCH + 1, attempt: 2 }), evidence),
    );
    expect(seen).toEqual(about.map(() => 'stay'));
  });
});

it.each(TERMINAL_STATUSES)('TRM-1 a %s run stays so, whatever it is told', (status) => {
  const head = queuedHead({ status, epoch: EPOCH, attempt: 1, repeatable: true });
  const seen = Object.values(EVIDENCE)
    .flat()
    .map((evidence) => outcomeOf(head, evidence));
  expect(new Set(seen)).toEqual(new Set(['stay']));
});
