import {
  type CancelledRun,
  type CancelOutcome,
  type CancelRunsReply,
  isTerminal,
  toPlatformError,
} from '#shared/contracts/index.ts';
import type { RunHead } from '#shared/runs/index.ts';
import { cancelRun } from './cancel-run.ts';

/** StopTask allows bursts of this order, and one request must not take them all. */
const AT_ONCE = 8;

/**
 * Cancels a page of a tenant's runs that have not ended, and says of each what happened. A run that could not be
 * cancelled does not keep the others from it. See {@link CancelRunsReply} for when nothing is left.
 *
 * @throws PlatformError `invalid_cursor`
 */
export async function cancelRuns(
  deps: Parameters<typeof cancelRun>[0],
  tenantId: string,
  request: {
    /** Left out: the runs of every agent. */
    agentId: string | undefined;
    reason: string | undefined;
    requestedBy: string;
    limit: number;
    cursor: string | undefined;
  },
): Promise<CancelRunsReply> {
  const { agentId, limit, cursor } = request;
  const page = await deps.ledger.liveRuns(tenantId, { limit, cursor });
  const chosen = page.heads.filter((head) => agentId === undefined || head.agentId === agentId);
  const runs: CancelledRun[] = [];
  for (let at = 0; at < chosen.length; at += AT_ONCE) {
    const together = chosen.slice(at, at + AT_ONCE);
    runs.push(...(await Promise.all(together.map((head) => cancelOne(deps, head, request)))));
  }
  return { runs, ...(page.nextCursor ? { nextCursor: page.nextCursor } : {}) };
}

async function cancelOne(
  deps: Parameters<typeof cancelRun>[0],
  seen: RunHead,
  request: { reason: string | undefined; requestedBy: string },
): Promise<CancelledRun> {
  const { runId } = seen;
  try {
    const { head, isNew } = await cancelRun(deps, seen, request);
    return { runId, outcome: outcomeOf(head, isNew), status: head.status };
  } catch (error) {
    const known = toPlatformError(error);
    if (known.code === 'already_terminal' || known.code === 'run_not_found') {
      const head = await deps.ledger.readHead(seen).catch(() => undefined);
      return { runId, outcome: 'already_ended', ...(head ? { status: head.status } : {}) };
    }
    deps.log.error({ runId, code: known.code, error }, 'run not cancelled');
    return { runId, outcome: 'failed', error: known.record };
  }
}

function outcomeOf({ status }: RunHead, isNew: boolean): CancelOutcome {
  if (isTerminal(status)) return isNew ? 'cancelled' : 'already_ended';
  return isNew ? 'cancelling' : 'already_cancelling';
}
