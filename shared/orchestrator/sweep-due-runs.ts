import { isoTime } from '#shared/kit/clock.ts';
import { isActive, type RunHead, type RunRef, type TaskState } from '#shared/runs/index.ts';
import { DUE_SHARDS } from '#shared/topology/index.ts';
import type { Logger, RunQueue, TaskControl } from './ports.ts';
import { type SettleDeps, settleRun } from './settle-run.ts';

export interface SweepDeps extends SettleDeps {
  readonly queue: RunQueue;
  readonly launcher: TaskControl;
  readonly log: Logger;
}

/** Bounds one tick; what is left stays due and comes first at the next one. */
const RUNS_PER_SHARD = 100;

/**
 * ORC-5: looks at every run whose timer is due, and at nothing else. A timer never ends a run by itself: it makes
 * somebody look at its message, its lease or its task.
 */
export async function sweepDueRuns(deps: SweepDeps): Promise<{ looked: number; failed: number }> {
  let looked = 0;
  let failed = 0;
  for (let shard = 0; shard < DUE_SHARDS; shard += 1) {
    for (const ref of await deps.ledger.dueRuns(shard, isoTime(deps.clock.now()), RUNS_PER_SHARD)) {
      looked += 1;
      try {
        await sweepRun(deps, ref);
      } catch (error) {
        // One run that cannot be settled must not hide the others.
        failed += 1;
        deps.log.error({ runId: ref.runId, error }, 'sweep of a run failed');
      }
    }
  }
  return { looked, failed };
}

async function sweepRun(deps: SweepDeps, ref: RunRef): Promise<void> {
  const head = await deps.ledger.readHead(ref);
  if (!head?.dueAt) return; // ended meanwhile: the index is a moment behind
  const now = deps.clock.now();
  const deadline =
    Date.parse(head.deadlineAt) + (isActive(head.status) ? deps.timing.deadlineGraceMs : 0);
  if (deadline <= now) {
    if (head.taskArn) await deps.launcher.stop(head.taskArn, 'the run is past its deadline');
    await settleRun(deps, ref, { kind: 'deadline_passed', task: 'unknown' });
    return;
  }
  const next = (await look(deps, head, now)) ?? now;
  if (next > now) await deps.ledger.moveTimer(ref, head.dueAt, isoTime(Math.min(next, deadline)));
}

/** Does what the run's status asks for; answers when to look again, or undefined when the run was settled. */
async function look(deps: SweepDeps, head: RunHead, now: number): Promise<number | undefined> {
  const leaseEnds = head.leaseExpiresAt ? Date.parse(head.leaseExpiresAt) : now;
  switch (head.status) {
    case 'queued':
      await deps.queue.send({ schemaVersion: '1', tenantId: head.tenantId, runId: head.runId });
      return now + deps.timing.queuedCheckMs;
    case 'starting':
    case 'running': {
      if (leaseEnds > now) return leaseEnds;
      const task = await taskState(deps, head);
      if (head.status === 'starting' && head.taskArn && task === 'running') {
        await deps.launcher.stop(head.taskArn, 'no host claimed the run in time');
      }
      const settled = await settleRun(deps, head, {
        kind: 'lease_expired',
        epoch: head.epoch,
        task,
      });
      return settled.outcome === 'stayed' ? now + deps.timing.leaseMs : undefined;
    }
    case 'cancelling': {
      const task = await taskState(deps, head);
      if (head.taskArn && task === 'running') {
        await deps.launcher.stop(head.taskArn, 'cancelled on request');
      }
      const settled = await settleRun(deps, head, {
        kind: 'lease_expired',
        epoch: head.epoch,
        task,
      });
      return settled.outcome === 'stayed' ? now + deps.timing.cancelCheckMs : undefined;
    }
    default:
      return undefined;
  }
}

async function taskState(deps: SweepDeps, head: RunHead): Promise<TaskState> {
  if (head.taskArn) return deps.launcher.state(head.taskArn);
  // No task was recorded and no host ever came: a host that comes now is refused at its claim.
  return head.hostInstanceId ? 'unknown' : 'missing';
}
