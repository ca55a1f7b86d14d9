import { z } from 'zod';
import type { Logger } from './ports.ts';
import type { SettleDeps, Settlement } from './settle-run.ts';
import { settleTaskStop } from './settle-task-stop.ts';
import { executionScopeOfTask } from './task-identity.ts';
import { readTaskStop } from './task-stop.ts';

/**
 * The part of an "ECS Task State Change" event that is read. `exitCode` is absent when the container never started.
 *
 * B77: events repeat and come in any order, and would be ordered by `detail.version` (a number; the `version` of the
 * envelope is always "0"). Nothing here compares versions: only STOPPED is acted on, which no task leaves, and what it
 * means for the run is decided on the head, by the epoch that the task was started for.
 */
export const taskStoppedEventSchema = z.object({
  detail: z.object({
    taskArn: z.string(),
    lastStatus: z.string(),
    startedBy: z.string().optional(),
    stopCode: z.string().optional(),
    stoppedReason: z.string().optional(),
    containers: z
      .array(z.object({ exitCode: z.number().optional(), reason: z.string().optional() }))
      .default([]),
  }),
});
export type TaskStoppedEvent = z.infer<typeof taskStoppedEventSchema>;

/** A task is gone: whatever its run still waits for will not come. Repeats and late events change nothing. */
export async function settleStoppedTask(
  deps: SettleDeps & { log: Logger },
  event: TaskStoppedEvent,
): Promise<Settlement | { outcome: 'not_ours' }> {
  const { detail } = event;
  const attempt = executionScopeOfTask(detail.startedBy);
  if (detail.lastStatus !== 'STOPPED' || !attempt) return { outcome: 'not_ours' };
  const head = await deps.ledger.readHead(attempt);
  if (!head) return { outcome: 'not_found' };
  // Another task of the same attempt (its token was forgotten) is refused by the claim and ends: not the run's end.
  if (head.epoch === attempt.epoch && head.taskArn && head.taskArn !== detail.taskArn) {
    return { outcome: 'stayed', head };
  }
  const stop = readTaskStop(detail);
  const settled = await settleTaskStop(deps, attempt, stop);
  const { runId, epoch } = attempt;
  deps.log.info({ runId, epoch, ...stop, outcome: settled.outcome }, 'task stopped');
  return settled;
}
