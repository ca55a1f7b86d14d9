import {
  ERROR_CLASSES,
  type ExecutionError,
  type ExecutionResult,
  executionError,
  isTerminal,
  type TerminalStatus,
} from '#shared/contracts/index.ts';
import { assertNever } from '#shared/kit/assert-never.ts';
import type { RunHead } from './run-head.ts';

/** What is known of a run's task. `missing`: the control plane has never heard of it, or has forgotten it. */
export type TaskState = 'running' | 'stopped' | 'missing' | 'unknown';

/** Something that was learnt about a run and may end it. `epoch` names the attempt it is about. */
export type Evidence =
  | { readonly kind: 'host_result'; readonly epoch: number; readonly result: ExecutionResult }
  | {
      readonly kind: 'task_stopped';
      readonly epoch: number;
      readonly reason: string;
      readonly outOfMemory: boolean;
    }
  | { readonly kind: 'lease_expired'; readonly epoch: number; readonly task: TaskState }
  | { readonly kind: 'deadline_passed'; readonly task: TaskState }
  | { readonly kind: 'cancel_requested' }
  | {
      readonly kind: 'launch_failed';
      readonly epoch: number;
      readonly error: ExecutionError;
      readonly permanent: boolean;
    }
  /** A host presented its ticket after the run was taken away: nothing of this attempt is alive or ever was. */
  | { readonly kind: 'never_claimed'; readonly epoch: number }
  /** A launch that will never work: its message came too often, or `error` says why no repeat can mend it. */
  | { readonly kind: 'poison_message'; readonly reason: string; readonly error?: ExecutionError };

export type Decision =
  | { readonly action: 'stay' }
  | { readonly action: 'requeue'; readonly error: ExecutionError }
  | {
      readonly action: 'terminal';
      readonly status: TerminalStatus;
      readonly error?: ExecutionError;
      /** The engine's own result, when it is the outcome. */
      readonly result?: ExecutionResult;
      /** A result that came but is not the outcome (a late success after a cancel). */
      readonly evidence?: ExecutionResult;
    };

const STAY: Decision = { action: 'stay' };

/**
 * The one place that says how a run ends. Pure: the same head and evidence give the same decision, whoever asks.
 * Precedence, first match wins:
 *
 * | head         | evidence                                   | decision                                  |
 * |--------------|--------------------------------------------|-------------------------------------------|
 * | terminal     | any                                        | stay: the first ending is final           |
 * | any          | of an older epoch                          | stay                                      |
 * | any active   | deadline passed                            | timed_out (cancelled after a cancel)      |
 * | cancelling   | result, task stopped/missing, never claimed| cancelled, a result is kept as evidence   |
 * | cancelling   | result timed_out                           | timed_out                                 |
 * | queued       | cancel requested                           | cancelled                                 |
 * | queued, starting | poison message                         | failed (dead_lettered)                    |
 * | starting     | launch failed                              | requeue, or failed when permanent or spent|
 * | starting     | task stopped, lease expired                | requeue, or failed when attempts are spent|
 * | running      | result                                     | the result's status; a retryable failure requeues |
 * | running      | task stopped, lease expired and task gone  | requeue when repeatable, else failed      |
 * | running      | lease expired, task alive or unknown       | stay: silence is no ending                |
 */
export function decide(head: RunHead, evidence: Evidence): Decision {
  if (isTerminal(head.status)) return STAY;
  if ('epoch' in evidence && evidence.epoch !== head.epoch) return STAY;
  if (evidence.kind === 'deadline_passed') return deadline(head);
  switch (head.status) {
    case 'queued':
      return whenQueued(evidence);
    case 'starting':
      return whenStarting(head, evidence);
    case 'running':
      return whenRunning(head, evidence);
    case 'cancelling':
      return whenCancelling(head, evidence);
    default:
      return assertNever(head.status as never, 'status');
  }
}

function deadline(head: RunHead): Decision {
  if (head.status === 'cancelling') return cancelled(head);
  return {
    action: 'terminal',
    status: 'timed_out',
    error: executionError(
      'run_timed_out',
      `the run reached its deadline (${head.deadlineAt}) while ${head.status}`,
    ),
  };
}

function whenQueued(evidence: Evidence): Decision {
  switch (evidence.kind) {
    case 'cancel_requested':
      return {
        action: 'terminal',
        status: 'cancelled',
        error: executionError('run_cancelled', 'cancelled before it was started'),
      };
    case 'poison_message':
      return deadLettered(evidence);
    default:
      return STAY;
  }
}

function whenStarting(head: RunHead, evidence: Evidence): Decision {
  switch (evidence.kind) {
    case 'launch_failed':
      return evidence.permanent
        ? { action: 'terminal', status: 'failed', error: evidence.error }
        : retryOrFail(head, evidence.error);
    case 'task_stopped':
      return retryOrFail(
        head,
        executionError(
          'launch_failed',
          `the task stopped before its host reported: ${evidence.reason}`,
        ),
      );
    case 'lease_expired':
    case 'never_claimed':
      return retryOrFail(head, executionError('launch_failed', 'no host claimed the run in time'));
    case 'poison_message':
      return deadLettered(evidence);
    default:
      // A host's result cannot come before its claim made the run running.
      return STAY;
  }
}

function whenRunning(head: RunHead, evidence: Evidence): Decision {
  switch (evidence.kind) {
    case 'host_result':
      return fromResult(head, evidence.result);
    case 'task_stopped':
      return retryOrFail(
        head,
        evidence.outOfMemory
          ? executionError('memory_limit', `the task ran out of memory: ${evidence.reason}`, {
              sideEffects: 'maybe',
            })
          : executionError('host_lost', `the task stopped without a result: ${evidence.reason}`, {
              sideEffects: 'maybe',
            }),
      );
    case 'lease_expired':
      if (evidence.task === 'running' || evidence.task === 'unknown') return STAY;
      return retryOrFail(
        head,
        executionError('host_lost', `the host fell silent and its task is ${evidence.task}`, {
          sideEffects: 'maybe',
        }),
      );
    default:
      return STAY;
  }
}

function whenCancelling(head: RunHead, evidence: Evidence): Decision {
  switch (evidence.kind) {
    case 'host_result':
      if (evidence.result.status === 'timed_out') return fromResult(head, evidence.result);
      return evidence.result.status === 'cancelled'
        ? fromResult(head, evidence.result)
        : { ...cancelled(head), evidence: evidence.result };
    case 'task_stopped':
    case 'never_claimed':
    case 'launch_failed':
      return cancelled(head);
    case 'lease_expired':
      return evidence.task === 'stopped' || evidence.task === 'missing' ? cancelled(head) : STAY;
    default:
      return STAY;
  }
}

function fromResult(head: RunHead, result: ExecutionResult): Decision {
  const ended: Decision = {
    action: 'terminal',
    status: result.status,
    ...(result.error ? { error: result.error } : {}),
    result,
  };
  if (result.status !== 'failed' || !result.error) return ended;
  return mayRetry(head, result.error) ? { action: 'requeue', error: result.error } : ended;
}

function retryOrFail(head: RunHead, error: ExecutionError): Decision {
  return mayRetry(head, error)
    ? { action: 'requeue', error }
    : { action: 'terminal', status: 'failed', error };
}

/** ORC-7: by class, within the attempt limit, and never a second time what may have had effects unless it may repeat. */
function mayRetry(head: RunHead, error: ExecutionError): boolean {
  if (head.attempt >= head.maxAttempts) return false;
  if (error.sideEffects === 'maybe' && !head.repeatable) return false;
  const { retry } = ERROR_CLASSES[error.class];
  switch (retry) {
    case 'never':
      return false;
    case 'policy':
    case 'after_delay':
    case 'conditional':
      return true;
    case 'per_task':
      return head.repeatable;
    default:
      return assertNever(retry, 'retry rule');
  }
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

function deadLettered(evidence: Evidence & { kind: 'poison_message' }): Decision {
  return {
    action: 'terminal',
    status: 'failed',
    error:
      evidence.error ??
      executionError('dead_lettered', `the launch failed too often: ${evidence.reason}`),
  };
}
