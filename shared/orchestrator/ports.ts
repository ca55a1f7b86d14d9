import type { AgentEvent, ExecutionError, LaunchMessage } from '#shared/contracts/index.ts';
import type { RunRef, TaskState } from '#shared/runs/index.ts';

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
  | { readonly outcome: 'refused'; readonly error: ExecutionError; readonly permanent: boolean };

/**
 * Starts and stops tasks. `launch` is idempotent by run and epoch: asked twice, it answers the same task. Faults that
 * may pass (throttling, a lost answer) are thrown, so that the message comes again.
 */
export interface TaskLauncher extends TaskControl {
  launch(request: LaunchRequest): Promise<LaunchOutcome>;
}

/** What may be done to a task once it has a name. */
export interface TaskControl {
  /** Asks the task to end; no error when it is gone already. */
  stop(taskArn: string, reason: string): Promise<void>;
  state(taskArn: string): Promise<TaskState>;
}

/** An event on its way to the bus. */
export interface BusEvent {
  readonly tenantId: string;
  readonly event: AgentEvent;
}

/** The event bus. Answers which events were not taken, by their place in the list; never throws for single entries. */
export interface EventBus {
  publish(events: readonly BusEvent[]): Promise<readonly number[]>;
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
