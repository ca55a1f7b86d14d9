import { executionError } from '#shared/contracts/index.ts';
import type { RunRef } from '#shared/runs/index.ts';
import { type SettleDeps, type Settlement, settleRun } from './settle-run.ts';
import type { TaskStop } from './task-stop.ts';

/**
 * The task of an attempt has stopped: what its run still waits for will not come. Whoever learns of it (the event, the
 * sweeper, a launch that met it) settles alike.
 */
export async function settleTaskStop(
  deps: SettleDeps,
  attempt: RunRef & { readonly epoch: number },
  stop: TaskStop,
): Promise<Settlement> {
  const { epoch } = attempt;
  if (!stop.began) {
    const settled = await settleRun(deps, attempt, {
      kind: 'launch_failed',
      epoch,
      error: executionError('launch_failed', `the task did not start: ${stop.reason}`, {
        details: { cause: stop.cause },
      }),
      permanent: !stop.again,
    });
    // A host has claimed it: whatever the control plane says, something ran.
    if (settled.outcome !== 'stayed' || settled.head.status !== 'running') return settled;
  }
  return settleRun(deps, attempt, {
    kind: 'task_stopped',
    epoch,
    reason: stop.reason,
    outOfMemory: stop.cause === 'out_of_memory',
  });
}
