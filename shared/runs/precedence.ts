import {
  type ExecutionError,
  type ExecutionResult,
  executionError,
  type RunStatus,
  type TerminalStatus,
} from '#shared/contracts/index.ts';
import type { Decision, Evidence, EvidenceKind } from './evidence.ts';
import { mayRetry } from './retry.ts';
import type { RunHead } from './run-head.ts';

export type LiveStatus = Exclude<RunStatus, TerminalStatus>;
export type Outcome = 'stay' | 'requeue' | TerminalStatus;

/** What one kind of evidence means to a run in one status. `docs/precedence.md` is made of these. */
export interface Rule<K extends EvidenceKind> {
  /** Everything that it can come to. A test holds the rule to it, in both directions. */
  readonly outcomes: readonly Outcome[];
  readonly because: string;
  decide(head: RunHead, evidence: Extract<Evidence, { kind: K }>): Decision;
}

export const STAY: Decision = { action: 'stay' };

const stay = (because: string) => ({ outcomes: ['stay'] as const, because, decide: () => STAY });

/** Every status of a live run × every kind of evidence. */
export const PRECEDENCE: {
  readonly [S in LiveStatus]: { readonly [K in EvidenceKind]: Rule<K> };
} = {
  queued: {
    host_result: stay('The attempt was taken away and its log sealed; another one will tell.'),
    task_stopped: stay('Nothing of the run is in a task; the attempt before is over.'),
    lease_expired: stay('A queued run has no lease.'),
    deadline_passed: {
      outcomes: ['timed_out'],
      because: 'The deadline counts from acceptance, waiting included.',
      decide: timedOut,
    },
    cancel_requested: {
      outcomes: ['cancelled'],
      because: 'Nothing is alive that would have to confirm.',
      decide: () => ({
        action: 'terminal',
        status: 'cancelled',
        error: executionError('run_cancelled', 'cancelled before it was started'),
      }),
    },
    launch_failed: stay('The attempt before is over already.'),
    never_claimed: stay('The attempt before is over already.'),
    poison_message: {
      outcomes: ['failed'],
      because: 'Its launch came back too often: another message would do the same.',
      decide: deadLettered,
    },
  },
  starting: {
    host_result: stay('A result comes after the claim, which makes the run running.'),
    task_stopped: {
      outcomes: ['requeue', 'failed'],
      because: 'Nothing was done yet: another attempt, until they are spent.',
      decide: (head, { reason }) =>
        retryOrFail(
          head,
          executionError('launch_failed', `the task stopped before its host reported: ${reason}`),
        ),
    },
    lease_expired: {
      outcomes: ['requeue', 'failed'],
      because: 'No host came in the time of a launch. One that comes later is refused.',
      decide: neverClaimed,
    },
    deadline_passed: {
      outcomes: ['timed_out'],
      because: 'The deadline counts from acceptance, waiting included.',
      decide: timedOut,
    },
    cancel_requested: stay('Accepting a cancel makes the run cancelling; that status ends it.'),
    launch_failed: {
      outcomes: ['requeue', 'failed'],
      because: 'Another attempt, unless no repeat can help or the attempts are spent.',
      decide: (head, { error, permanent }) =>
        permanent ? failed(error) : retryOrFail(head, error),
    },
    never_claimed: {
      outcomes: ['requeue', 'failed'],
      because: 'Nothing of the attempt is alive or ever was.',
      decide: neverClaimed,
    },
    poison_message: {
      outcomes: ['failed'],
      because: 'Its launch came back too often: another message would do the same.',
      decide: deadLettered,
    },
  },
  running: {
    host_result: {
      outcomes: ['completed', 'failed', 'cancelled', 'timed_out', 'budget_exhausted', 'requeue'],
      because:
        'The host knows best. A failure that may be repeated is, until the attempts are spent.',
      decide: (head, { result }) => fromResult(head, result),
    },
    task_stopped: {
      outcomes: ['requeue', 'failed'],
      because: 'It may have had effects: another attempt only when the run is repeatable.',
      decide: (head, { reason, outOfMemory }) =>
        retryOrFail(
          head,
          outOfMemory
            ? lost('memory_limit', `the task ran out of memory: ${reason}`)
            : lost('host_lost', `the task stopped without a result: ${reason}`),
        ),
    },
    lease_expired: {
      outcomes: ['stay', 'requeue', 'failed'],
      because:
        'Silence is no ending: while the task is running or nothing is known of it, the run stays. A task that is gone counts as stopped.',
      decide: (head, { task }) =>
        task === 'running' || task === 'unknown'
          ? STAY
          : retryOrFail(head, lost('host_lost', `the host fell silent and its task is ${task}`)),
    },
    deadline_passed: {
      outcomes: ['timed_out'],
      because: 'The host keeps the deadline; this comes a grace later, when it did not.',
      decide: timedOut,
    },
    cancel_requested: stay('Accepting a cancel makes the run cancelling; that status ends it.'),
    launch_failed: stay('A host has claimed the run: whatever was said of its launch, it runs.'),
    never_claimed: stay('A host has claimed the run.'),
    poison_message: stay('The message was about the launch, and the run is launched.'),
  },
  cancelling: {
    host_result: {
      outcomes: ['cancelled', 'timed_out'],
      because:
        'The first to be accepted wins: a result that comes after the cancel is kept as evidence. A host that ran out of time says so.',
      decide: (head, { result }) =>
        result.status === 'cancelled' || result.status === 'timed_out'
          ? fromResult(head, result)
          : { ...cancelled(head), evidence: result },
    },
    task_stopped: {
      outcomes: ['cancelled'],
      because: 'Nothing of the run is alive.',
      decide: cancelled,
    },
    lease_expired: {
      outcomes: ['stay', 'cancelled'],
      because: 'Cancelled when its task is gone; until then it is told to stop again and again.',
      decide: (head, { task }) =>
        task === 'stopped' || task === 'missing' ? cancelled(head) : STAY,
    },
    deadline_passed: {
      outcomes: ['cancelled'],
      because: 'The cancel was accepted first.',
      decide: cancelled,
    },
    cancel_requested: stay('It is being cancelled.'),
    launch_failed: {
      outcomes: ['cancelled'],
      because: 'There is no task that would have to end.',
      decide: cancelled,
    },
    never_claimed: {
      outcomes: ['cancelled'],
      because: 'The host that came too late was its only life.',
      decide: cancelled,
    },
    poison_message: stay('The message was about the launch; its task is being stopped.'),
  },
};

function timedOut(head: RunHead): Decision {
  return {
    action: 'terminal',
    status: 'timed_out',
    error: executionError(
      'run_timed_out',
      `the run reached its deadline (${head.deadlineAt}) while ${head.status}`,
    ),
  };
}

function neverClaimed(head: RunHead): Decision {
  return retryOrFail(head, executionError('launch_failed', 'no host claimed the run in time'));
}

/** An engine was at work when it was lost: nobody knows what it has done. */
function lost(code: 'host_lost' | 'memory_limit', message: string): ExecutionError {
  return executionError(code, message, { sideEffects: 'maybe' });
}

function fromResult(head: RunHead, result: ExecutionResult): Decision {
  const { status, error } = result;
  if (status === 'failed' && error && mayRetry(head, error)) return { action: 'requeue', error };
  return { action: 'terminal', status, ...(error ? { error } : {}), result };
}

function retryOrFail(head: RunHead, error: ExecutionError): Decision {
  return mayRetry(head, error) ? { action: 'requeue', error } : failed(error);
}

function failed(error: ExecutionError): Decision {
  return { action: 'terminal', status: 'failed', error };
}

function cancelled(head: RunHead): Decision & { action: 'terminal' } {
  return {
    action: 'terminal',
    status: 'cancelled',
    error: executionError('run_cancelled', head.cancelReason ?? 'cancelled on request', {
      sideEffects: head.hostInstanceId ? 'maybe' : 'none',
    }),
  };
}

function deadLettered(
  _head: RunHead,
  { reason, error }: Extract<Evidence, { kind: 'poison_message' }>,
): Decision {
  return failed(error ?? executionError('dead_lettered', `the launch failed too often: ${reason}`));
}
