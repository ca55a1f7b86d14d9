import { z } from 'zod';
import {
  type EventPage,
  isTerminal,
  PlatformError,
  type ProcessTree,
  processTreeSchema,
  type RunList,
  type RunStatus,
  type RunView,
} from '#shared/contracts/index.ts';
import {
  cursorsOf,
  LOG_BEGINNING,
  type RunHead,
  type RunLedger,
  type RunRef,
  readEvents,
} from '#shared/runs/index.ts';

/** @throws PlatformError `run_not_found`, also for a run of another tenant: its existence is a secret */
export async function viewRun(ledger: RunLedger, ref: RunRef): Promise<RunView> {
  const head = await requireRun(ledger, ref);
  const [snapshot, attempts, ending, processTree] = await Promise.all([
    head.epoch > 0 ? ledger.readSnapshot(ref, head.epoch) : undefined,
    head.epoch > 0 ? ledger.readAttempts(ref) : [],
    head.finalPage === undefined ? undefined : ledger.readEnding(ref, head.finalPage),
    head.finalPage === undefined ? undefined : processTreeOf(ledger, ref, head.finalPage),
  ]);
  // The head keeps a short form; a run that goes on has none.
  const error = ending?.error ?? head.error;
  return {
    ...summary(head),
    ...(head.agentId ? { agentId: head.agentId } : {}),
    ...(head.conversationId ? { conversationId: head.conversationId } : {}),
    priority: head.priority ?? 'normal',
    deadlineAt: head.deadlineAt,
    ...(head.cancelRequestedAt ? { cancelRequestedAt: head.cancelRequestedAt } : {}),
    ...(snapshot
      ? { capabilities: snapshot.capabilities, policyVersion: snapshot.policyVersion }
      : {}),
    usage: head.usage,
    ...(ending?.result ? { result: ending.result } : {}),
    ...(processTree ? { processTree } : {}),
    ...(error ? { error } : {}),
    attempts,
  };
}

/** HST-2: the final event says it, whoever ended the run. */
async function processTreeOf(
  ledger: RunLedger,
  ref: RunRef,
  finalPage: number,
): Promise<ProcessTree | undefined> {
  const [page] = await ledger.readPages(ref, finalPage - 1, 1);
  const payload = z.object({ processTree: processTreeSchema });
  return payload.safeParse(page?.events.at(-1)?.payload).data?.processTree;
}

/** A filtered list that is not of live runs only reads on until it has found some or has looked at this many. */
const MAX_READ_FOR_FILTER = 500;

/**
 * A page of the tenant's runs. Live statuses alone are read from the live runs themselves: complete, however many runs
 * have ended since, in no order. Everything else is read newest first; a page may then be short, and more may follow.
 *
 * @throws PlatformError `invalid_cursor`
 */
export async function listRuns(
  ledger: Pick<RunLedger, 'listRuns' | 'liveRuns'>,
  tenantId: string,
  options: {
    limit: number;
    cursor?: string | undefined;
    statuses?: readonly RunStatus[] | undefined;
  },
): Promise<RunList> {
  const { limit, statuses } = options;
  const isAsked = ({ status }: RunHead) => !statuses || statuses.includes(status);
  const isLive = statuses?.every((status) => !isTerminal(status)) ?? false;
  let { cursor } = options;
  let runs: RunHead[] = [];
  for (let looked = 0; ; ) {
    const asked = { limit, cursor };
    const page = await (isLive
      ? ledger.liveRuns(tenantId, asked)
      : ledger.listRuns(tenantId, asked));
    runs = page.heads.filter(isAsked);
    cursor = page.nextCursor;
    looked += limit;
    if (runs.length > 0 || cursor === undefined || looked >= MAX_READ_FOR_FILTER) break;
  }
  return { runs: runs.map(summary), ...(cursor ? { nextCursor: cursor } : {}) };
}

export async function pageEvents(
  ledger: RunLedger,
  ref: RunRef,
  options: { cursor?: string | undefined; limit: number },
): Promise<EventPage> {
  await requireRun(ledger, ref);
  const cursors = cursorsOf(ref);
  const after = options.cursor === undefined ? LOG_BEGINNING : cursors.decode(options.cursor);
  const read = await readEvents(ledger, ref, after, options.limit);
  return {
    events: read.events.map(({ event }) => event),
    nextCursor: cursors.encode(read.next),
    complete: read.complete,
  };
}

export async function requireRun(ledger: RunLedger, ref: RunRef): Promise<RunHead> {
  const head = await ledger.readHead(ref);
  if (!head) throw new PlatformError('run_not_found', `there is no run ${ref.runId}`);
  return head;
}

function summary(run: RunHead) {
  return {
    runId: run.runId,
    status: run.status,
    engine: run.engine,
    attempt: run.attempt,
    createdAt: run.createdAt,
    ...(run.startedAt ? { startedAt: run.startedAt } : {}),
    ...(run.endedAt ? { endedAt: run.endedAt } : {}),
  };
}
