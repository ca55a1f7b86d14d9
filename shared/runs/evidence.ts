import type { ExecutionError, ExecutionResult, TerminalStatus } from '#shared/contracts/index.ts';

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

export type EvidenceKind = Evidence['kind'];

/** What each kind is, and who brings it. */
export const EVIDENCE_KINDS: { readonly [K in EvidenceKind]: string } = {
  host_result: 'The host reports how its engine ended and that its process tree is gone.',
  task_stopped:
    'The control plane says that the task has stopped (its event, the sweeper, a launch that met it).',
  lease_expired: 'The sweeper finds a lease that ran out, and what is known of the task.',
  deadline_passed: 'The sweeper or a dispatch finds the deadline passed, live runs a grace later.',
  cancel_requested: 'A client cancels a run that was not started.',
  launch_failed: 'The control plane made no task, or the task could not start.',
  never_claimed: 'A host presents its ticket after the run was taken away.',
  poison_message: 'The launch message came too often and was set aside.',
};

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
