import { z } from 'zod';
import type { Logger } from './ports.ts';
import { type SettleDeps, type Settlement, settleRun } from './settle-run.ts';
import { executionScopeOfTask } from './task-identity.ts';

/** The part of an "ECS Task State Change" event that is read. `exitCode` is absent when the container never started. */
export const taskStoppedEventSchema = z.object({
  detail: z.object({
    taskArn: z.string(),
    lastStatus: z.string(),
    startedBy: z.string().optional(),
    stopCode: z.string().optional(),
    stoppedReason: z.string().optional(),
    version: z.number().optional(),
    group: z.string().optional(),
    tags: z.unknown().optional(),
    containers: z
      .array(
        z.object({
          name: z.string().optional(),
          exitCode: z.number().optional(),
          reason: z.string().optional(),
        }),
      )
      .default([]),
    overrides: z
      .object({
        containerOverrides: z
          .array(
            z.object({
              environment: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
            }),
          )
          .default([]),
      })
      .optional(),
  }),
});
export type TaskStoppedEvent = z.infer<typeof taskStoppedEventSchema>;

/** A task is gone: whatever its run still waits for will not come. Repeats and late events change nothing. */
export async function settleStoppedTask(
  deps: SettleDeps & { log: Logger },
  event: TaskStoppedEvent,
): Promise<Settlement | { outcome: 'not_ours' }> {
  const { detail } = event;
  if (detail.lastStatus !== 'STOPPED') return { outcome: 'not_ours' };
  const scope = executionScopeOfTask(detail.startedBy);
  if (!scope) return { outcome: 'not_ours' };
  const reasons = [
    detail.stopCode,
    detail.stoppedReason,
    ...detail.containers.map(({ reason }) => reason),
  ];
  const exitCodes = detail.containers.flatMap(({ exitCode }) =>
    exitCode === undefined ? [] : [exitCode],
  );
  const reason = [
    ...reasons.filter(Boolean),
    exitCodes.length ? `exit code ${exitCodes.join(', ')}` : 'no exit code',
  ].join('; ');
  const settled = await settleRun(deps, scope, {
    kind: 'task_stopped',
    epoch: scope.epoch,
    reason,
    outOfMemory: reasons.some((text) => text?.startsWith('OutOfMemory')),
  });
  deps.log.info(
    { runId: scope.runId, epoch: scope.epoch, reason, outcome: settled.outcome },
    'task stopped',
  );
  return settled;
}
