import { isoTime } from '#shared/kit/clock.ts';
import { isActive, type RunHead, type TaskState } from '#shared/runs/index.ts';
import type { Logger, RunQueue, TaskControl } from './ports.ts';
import { type SettleDeps, settleRun } from './settle-run.ts';
import { settleTaskStop } from './settle-task-stop.ts';
import type { TaskStop } from './task-stop.ts';

export interface SweepDeps extends SettleDeps {
  readonly queue: RunQueue;
  readonly launcher: TaskControl;
  readonly log: Logger;
}

/** What is known of a run's task. `missing` without a name: none was ever found. `unknown`: nobody could be asked. */
export interface SeenTask {
  readonly state: TaskState;
  readonly taskArn?: string;
  readonly stop?: TaskStop;
}

/** Whether a run's task must be looked at, or looked for by the name of its attempt. */
export function taskQuestion(head: RunHead, now: number): 'none' | 'look' | 'find' {
  if (!isActive(head.status)) return 'none';
  if (!head.taskArn) return 'find';
  return head.status === 'running' && leaseEnds(head) > now ? 'none' : 'look';
}

/**
 * Does for one due run what its status asks for, and moves its timer. A timer never ends a run by itself: it makes
 * somebody look at its message, its lease or its task.
 */
export async function sweepRun(
  deps: SweepDeps,
  head: RunHead & { readonly dueAt: string },
  task: SeenTask,
): Promise<void> {
  const now = deps.clock.now();
  const deadline =
    Date.parse(head.deadlineAt) + (isActive(head.status) ? deps.timing.deadlineGraceMs : 0);
  if (deadline <= now) {
    await settleRun(deps, head, { kind: 'deadline_passed', task: task.state });
    // After the ending: a control plane that fails keeps no run alive, and a task that stays is found as an orphan.
    await stopQuietly(deps, head, task, 'the run is past its deadline');
    return;
  }
  if (task.taskArn && !head.taskArn) await adopt(deps, head, task.taskArn);
  const next = await act(deps, head, task, now);
  if (next === undefined) return;
  const limit = isActive(head.status) ? now + deps.timing.leaseMs : Number.POSITIVE_INFINITY;
  const dueAt = isoTime(Math.min(next, limit, deadline));
  await deps.ledger.moveTimer(head, head.dueAt, dueAt, head.status);
}

/** Answers when to look again, or undefined when the run was settled. */
async function act(
  deps: SweepDeps,
  head: RunHead,
  task: SeenTask,
  now: number,
): Promise<number | undefined> {
  switch (head.status) {
    case 'queued':
      await sendMessage(deps, head);
      return now + queuedCheckMs(deps, head, now);
    case 'starting':
      return whenStarting(deps, head, task, now);
    case 'running':
      return whenRunning(deps, head, task, now);
    case 'cancelling':
      return whenCancelling(deps, head, task, now);
    default:
      return undefined;
  }
}

function queuedCheckMs({ timing }: SweepDeps, head: RunHead, now: number): number {
  const waitedMs = now - Date.parse(head.createdAt);
  return Math.max(timing.queuedCheckMs, Math.min(waitedMs, timing.queuedCheckMaxMs));
}

async function whenStarting(
  deps: SweepDeps,
  head: RunHead,
  task: SeenTask,
  now: number,
): Promise<number | undefined> {
  if (task.stop) return settled(await settleTaskStop(deps, head, task.stop), now);
  if (leaseEnds(head) > now) {
    // Nobody knows of a task: whoever claimed the run may have died before the launch. It is launched again under
    // the same identity, or by the message that is still there: both ask for the same task.
    if (task.state === 'missing' && !task.taskArn) await sendMessage(deps, head);
    return leaseEnds(head);
  }
  await stopQuietly(deps, head, task, 'no host claimed the run in time');
  return settled(await settleLease(deps, head, task), now + deps.timing.sweepEveryMs);
}

async function whenRunning(
  deps: SweepDeps,
  head: RunHead,
  task: SeenTask,
  now: number,
): Promise<number | undefined> {
  const silentMs = now - leaseEnds(head);
  if (silentMs < 0) return leaseEnds(head);
  if (task.stop) return settled(await settleTaskStop(deps, head, task.stop), now);
  // Silence is no ending. But a host that has given up long ago and whose task goes on is stopped, which ends it.
  if (silentMs >= deps.timing.silentStopMs) {
    await stopQuietly(deps, head, task, 'its host has been silent for too long');
  }
  return settled(await settleLease(deps, head, task), now + deps.timing.sweepEveryMs);
}

async function whenCancelling(
  deps: SweepDeps,
  head: RunHead,
  task: SeenTask,
  now: number,
): Promise<number | undefined> {
  if (task.stop) return settled(await settleTaskStop(deps, head, task.stop), now);
  await stopQuietly(deps, head, task, 'cancelled on request');
  return settled(await settleLease(deps, head, task), now + deps.timing.cancelCheckMs);
}

/** B83: the name of the task was lost between launch and write; cancel and the next sweep need it. */
async function adopt(deps: SweepDeps, head: RunHead, taskArn: string): Promise<void> {
  await deps.ledger.recordTask(head, head.epoch, taskArn);
  deps.log.info({ runId: head.runId, epoch: head.epoch, taskArn }, 'task found by its name');
}

function settleLease(deps: SweepDeps, head: RunHead, task: SeenTask) {
  return settleRun(deps, head, { kind: 'lease_expired', epoch: head.epoch, task: task.state });
}

function settled(
  settlement: Awaited<ReturnType<typeof settleRun>>,
  next: number,
): number | undefined {
  return settlement.outcome === 'stayed' ? next : undefined;
}

function sendMessage(deps: SweepDeps, { tenantId, runId }: RunHead): Promise<void> {
  return deps.queue.send({ schemaVersion: '1', tenantId, runId });
}

async function stopQuietly(
  deps: SweepDeps,
  head: RunHead,
  task: SeenTask,
  reason: string,
): Promise<void> {
  const taskArn = task.taskArn ?? head.taskArn;
  if (!taskArn || task.state === 'stopped' || task.state === 'missing') return;
  try {
    await deps.launcher.stop(taskArn, reason);
  } catch (error) {
    deps.log.warn({ runId: head.runId, error }, 'task not stopped; it will be tried again');
  }
}

function leaseEnds(head: RunHead): number {
  return head.leaseExpiresAt ? Date.parse(head.leaseExpiresAt) : 0;
}
