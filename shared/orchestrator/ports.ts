import type { ExecutionError, LaunchMessage } from '#shared/contracts/index.ts';
import type { RunRef, TaskState } from '#shared/runs/index.ts';
import type { TaskStop } from './task-stop.ts';

/** The runs queue. At least once, in no order; `delayMs` at most 15 minutes. */
export interface RunQueue {
  send(message: LaunchMessage, options?: { delayMs?: number }): Promise<void>;
}

export interface LaunchRequest {
  readonly ref: RunRef;
  readonly epoch: number;
  readonly ticket: string;
}

export type LaunchOutcome =
  | { readonly outcome: 'launched'; readonly taskArn: string }
  /** The task of this attempt was launched before and has stopped already (B76). */
  | { readonly outcome: 'stopped'; readonly taskArn: string; readonly stop: TaskStop }
  /** No task was made. `permanent`: asking again cannot help; else there is no room for it now. */
  | { readonly outcome: 'refused'; readonly error: ExecutionError; readonly permanent: boolean };

/**
 * Starts and stops tasks. `launch` is idempotent by run and epoch: asked twice, it answers the same task. What may
 * have made a task although no answer came, and cannot be found, is thrown, so that the message comes again.
 */
export interface TaskLauncher extends TaskControl {
  launch(request: LaunchRequest): Promise<LaunchOutcome>;
}

/** What the control plane says of one task. */
export interface TaskSight {
  readonly taskArn: string;
  /** `running` until nothing of it runs any more, however often it was told to stop (B79). */
  readonly state: TaskState;
  /** The attempt it was started for, by its name; absent when it is none of ours, missing or unknown. */
  readonly attempt?: RunRef & { readonly epoch: number };
  /** Milliseconds since the epoch. */
  readonly createdAtMs?: number;
  /** When it is `stopped`. */
  readonly stop?: TaskStop;
}

/** What may be done to tasks that were made. The control plane is eventually consistent: a new task may be missing. */
export interface TaskControl {
  /** Asks the task to end; no error when it is gone already. */
  stop(taskArn: string, reason: string): Promise<void>;
  /** One sight for each, in the order asked; any number. */
  look(taskArns: readonly string[]): Promise<TaskSight[]>;
  /** B83: the task that was started for this attempt, a living one if there is one; for when its name was lost. */
  find(ref: RunRef, epoch: number): Promise<TaskSight | undefined>;
  /** A page of the tasks that nobody told to stop. `cursor` is opaque and may become invalid: then it throws. */
  listLive(cursor?: string): Promise<{ tasks: TaskSight[]; cursor?: string }>;
}

export interface Ids {
  runId(): string;
  traceId(): string;
}

export interface Logger {
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}
