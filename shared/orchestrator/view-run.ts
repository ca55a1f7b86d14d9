import {
  type EventPage,
  PlatformError,
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
  const [snapshot, attempts, ending] = await Promise.all([
    head.epoch > 0 ? ledger.readSnapshot(ref, head.epoch) : undefined,
    head.epoch > 0 ? ledger.readAttempts(ref) : [],
    head.finalPage === undefined ? undefined : ledger.readEnding(ref, head.finalPage),
  ]);
  // The head keeps a short form; a run that goes on has none.
  const error = ending?.error ?? head.error;
  return {
    ...summary(head),
    ...(head.agentId ? { agentId: head.agentId } : {}),
    ...(head.conversationId ? { conversationId: head.conversationId } : {}),
    deadlineAt: head.deadlineAt,
    ...(head.cancelRequestedAt ? { cancelRequestedAt: head.cancelRequestedAt } : {}),
    ...(snapshot
      ? { capabilities: snapshot.capabilities, policyVersion: snapshot.policyVersion }
      : {}),
    usage: head.usage,
    ...(ending?.result ? { result: ending.result } : {}),
    ...(error ? { error } : {}),
    attempts,
  };
}

export async function listRuns(
  ledger: RunLedger,
  tenantId: string,
  options: { limit: number; cursor?: string | undefined; status?: RunStatus | undefined },
): Promise<RunList> {
  const { heads, nextCursor } = await ledger.listRuns(tenantId, options);
  return { runs: heads.map(summary), ...(nextCursor ? { nextCursor } : {}) };
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
