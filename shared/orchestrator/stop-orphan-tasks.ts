import type { Clock } from '#shared/kit/clock.ts';
import { isActive, type RunHead, type RunLedger } from '#shared/runs/index.ts';
import type { Logger, TaskControl, TaskSight } from './ports.ts';
import type { Timing } from './settings.ts';
import type { Chore } from './sweeper.ts';

/** Pages of 100 tasks in one portion. */
const PAGES_PER_PORTION = 5;

/**
 * HST-5: stops tasks that run for no live run: its run has ended, is back in the queue, belongs to a later attempt, or
 * never existed. Their hosts are fenced already and mostly gone; this is for those that hang. Costs one read for each
 * running task, however many runs have finished.
 */
export function orphanTasksChore(deps: {
  readonly ledger: Pick<RunLedger, 'readHead'>;
  readonly launcher: Pick<TaskControl, 'listLive' | 'stop'>;
  readonly timing: Timing;
  readonly clock: Clock;
  readonly log: Logger;
}): Chore {
  let cursor: string | undefined;
  return {
    name: 'orphan tasks',
    everyMs: deps.timing.orphanCheckMs,
    async run(untilMs) {
      for (let page = 0; page < PAGES_PER_PORTION && deps.clock.now() < untilMs; page += 1) {
        const from = cursor;
        // A cursor that has become invalid must not be used twice.
        cursor = undefined;
        const listed = await deps.launcher.listLive(from);
        for (const task of listed.tasks) await judgeTask(deps, task);
        cursor = listed.cursor;
        if (cursor === undefined) return 'done';
      }
      return 'more';
    },
  };
}

type OrphanDeps = Parameters<typeof orphanTasksChore>[0];

/** One task that cannot be judged or stopped hides no other. */
async function judgeTask(deps: OrphanDeps, task: TaskSight): Promise<void> {
  const { attempt, taskArn } = task;
  if (!attempt || task.state !== 'running') return;
  try {
    const why = whyOrphan(deps, task, attempt.epoch, await deps.ledger.readHead(attempt));
    if (!why) return;
    deps.log.warn({ runId: attempt.runId, epoch: attempt.epoch, taskArn, why }, 'orphan task');
    await deps.launcher.stop(taskArn, why);
  } catch (error) {
    deps.log.error({ runId: attempt.runId, taskArn, error }, 'task not judged');
  }
}

function whyOrphan(
  { timing, clock }: OrphanDeps,
  task: TaskSight,
  epoch: number,
  head: RunHead | undefined,
): string | undefined {
  const longAgo = (ms: number) => ms <= clock.now() - timing.orphanGraceMs;
  // A run is in the ledger before its task is made; the grace is for clocks that differ.
  if (!head) return longAgo(task.createdAtMs ?? 0) ? 'its run does not exist' : undefined;
  if (head.epoch > epoch) return 'a later attempt has taken its run over';
  if (head.epoch < epoch || isActive(head.status)) return undefined;
  if (head.status === 'queued') return 'its attempt is over';
  return longAgo(Date.parse(head.endedAt ?? '') || 0) ? 'its run has ended' : undefined;
}
