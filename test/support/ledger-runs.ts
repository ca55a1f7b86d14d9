import { executionError, platformEvent, type TerminalStatus } from '#shared/contracts/index.ts';
import type { RunHead, RunLedger } from '#shared/runs/index.ts';
import { QUOTA_PARTITIONS } from '#shared/topology/index.ts';
import {
  at,
  claimOf,
  completedResult,
  creationOf,
  noticeEvent,
  queuedHead,
} from './run-builders.ts';

export type StartingState = 'new' | 'queued' | 'starting' | 'running';

/** Runs of a ledger in the state a test needs, and the writes of a life with the fields that do not matter to it. */
export function runsOf(ledger: RunLedger) {
  const runs = {
    async in(state: StartingState, fields: Partial<RunHead> = {}): Promise<RunHead> {
      const head = queuedHead(fields);
      if (state === 'new') return head;
      await ledger.createRun(creationOf(head));
      if (state === 'queued') return head;
      const claimed = await ledger.claimForLaunch(claimOf(head));
      if (claimed.outcome !== 'claimed') throw new Error(claimed.outcome);
      if (state === 'starting') return claimed.head;
      const hosted = await runs.host(claimed.head);
      if (hosted.outcome !== 'applied') throw new Error(hosted.outcome);
      return hosted.head;
    },
    host: (head: RunHead, hostInstanceId = 'host-aaaa') =>
      ledger.claimByHost({
        ref: head,
        epoch: head.epoch,
        hostInstanceId,
        leaseExpiresAt: at(45),
        now: at(1),
      }),
    cancel: (head: RunHead, reason = 'enough') =>
      ledger.requestCancel({
        head,
        reason,
        event: platformEvent('run.cancel_requested', { requestedBy: 'me' }, { timestamp: at(2) }),
        now: at(2),
        dueAt: at(30),
      }),
    finish: (head: RunHead, status: TerminalStatus = 'completed', now = at(9)) =>
      ledger.finishRun({
        head,
        ending: {
          status,
          usage: { inputTokens: 7 },
          ...(status === 'completed'
            ? { result: completedResult() }
            : { error: executionError('internal', status) }),
        },
        events: [
          status === 'completed'
            ? platformEvent('run.completed', { usage: { inputTokens: 7 } }, { timestamp: now })
            : platformEvent(
                'run.failed',
                { usage: {}, error: executionError('internal', status) },
                { timestamp: now },
              ),
        ],
        now,
      }),
    requeue: (head: RunHead) =>
      ledger.requeueRun({
        head,
        error: executionError('host_lost', 'gone'),
        usage: { inputTokens: 7 },
        events: [
          platformEvent(
            'run.requeued',
            { attempt: head.attempt, reason: 'gone' },
            { timestamp: at(9) },
          ),
        ],
        dueAt: at(70),
        now: at(9),
      }),
    append: async (
      head: RunHead,
      first: number,
      messages: readonly string[],
      position?: { nextIndex: number; nextSequence: number },
    ) =>
      ledger.appendPage({
        ref: head,
        epoch: head.epoch,
        traceId: head.traceId,
        position: position ?? (await ledger.logEnd(head)),
        firstProducerSequence: first,
        events: messages.map((message) => noticeEvent(message)),
      }),
    async counters(tenantId: string | undefined) {
      const partitions = await Promise.all(
        Array.from({ length: QUOTA_PARTITIONS }, (_, n) => ledger.listQuotaCounters(n)),
      );
      return partitions.flat().filter((counter) => counter.tenantId === tenantId);
    },
  };
  return runs;
}
