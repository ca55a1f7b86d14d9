import { PlatformError, platformEvent } from '#shared/contracts/index.ts';
import { isoTime } from '#shared/kit/clock.ts';
import type { RunHead, RunRef } from '#shared/runs/index.ts';
import type { Logger, TaskControl } from './ports.ts';
import { type SettleDeps, settleRun } from './settle-run.ts';

const MAX_ROUNDS = 10;

export interface CancelledHead {
  readonly head: RunHead;
  /** False when the run had been cancelled, or was being cancelled, already. */
  readonly isNew: boolean;
}

/**
 * Accepts a cancel. A queued run ends at once; a live one becomes `cancelling` and ends `cancelled` when its host
 * has verified that nothing of it is left (or its task is gone). A repeat changes nothing and tells the task again: the
 * first request may have died between its write and its StopTask (B103).
 *
 * @throws PlatformError `run_not_found`, `already_terminal` (unless it ended cancelled)
 */
export async function cancelRun(
  deps: SettleDeps & { launcher: Pick<TaskControl, 'stop'>; log: Logger },
  ref: RunRef,
  request: { reason: string | undefined; requestedBy: string },
): Promise<CancelledHead> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const head = await deps.ledger.readHead(ref);
    if (!head) throw new PlatformError('run_not_found', `there is no run ${ref.runId}`);
    switch (head.status) {
      case 'cancelled':
        return { head, isNew: false };
      case 'cancelling':
        await stopTask(deps, head);
        return { head, isNew: false };
      case 'queued': {
        const settled = await settleRun(deps, ref, { kind: 'cancel_requested' });
        if (settled.outcome === 'ended') return { head: settled.head, isNew: true };
        break;
      }
      case 'starting':
      case 'running': {
        const now = deps.clock.now();
        const written = await deps.ledger.requestCancel({
          head,
          reason: request.reason,
          event: platformEvent(
            'run.cancel_requested',
            {
              requestedBy: request.requestedBy,
              ...(request.reason ? { reason: request.reason } : {}),
            },
            { timestamp: isoTime(now) },
          ),
          now: isoTime(now),
          dueAt: isoTime(now + deps.timing.cancelCheckMs),
        });
        if (written.outcome === 'applied') {
          await stopTask(deps, written.head);
          return { head: written.head, isNew: true };
        }
        break;
      }
      default:
        throw new PlatformError('already_terminal', `the run has ended: ${head.status}`, {
          details: { status: head.status },
        });
    }
  }
  throw new PlatformError(
    'throttled',
    'the run changes too fast to be cancelled; repeat the request',
  );
}

/** The cancel is accepted already; a task that cannot be told now is told by the sweeper. */
async function stopTask(
  deps: { launcher: Pick<TaskControl, 'stop'>; log: Logger },
  head: RunHead,
): Promise<void> {
  if (!head.taskArn) return;
  try {
    await deps.launcher.stop(head.taskArn, 'cancelled on request');
  } catch (error) {
    deps.log.warn({ runId: head.runId, error }, 'task not stopped; the sweeper will try again');
  }
}
