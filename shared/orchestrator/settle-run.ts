import {
  type ExecutionResult,
  FINAL_EVENT_TYPES,
  type NewEvent,
  platformEvent,
  type Usage,
} from '#shared/contracts/index.ts';
import { assertNever } from '#shared/kit/assert-never.ts';
import { type Clock, isoTime } from '#shared/kit/clock.ts';
import type { WaitList } from '#shared/quotas/index.ts';
import {
  type Decision,
  decide,
  type Evidence,
  type RunHead,
  type RunLedger,
  type RunRef,
  retryDelayMs,
} from '#shared/runs/index.ts';
import { callNext } from './admit-run.ts';
import type { RunQueue } from './ports.ts';
import type { Timing } from './settings.ts';
import { treeEvidence } from './tree-evidence.ts';

export interface SettleDeps {
  readonly ledger: RunLedger;
  /** Absent where a requeue is rare: the sweeper then sends the message when its timer is due. */
  readonly queue?: RunQueue;
  /** With `queue`: whoever waits for the slot that an ending frees is called at once, else when its timer is due. */
  readonly waitList?: Pick<WaitList, 'first'>;
  readonly timing: Timing;
  readonly clock: Clock;
}

export type Settlement =
  | { readonly outcome: 'stayed' | 'ended' | 'requeued'; readonly head: RunHead }
  | { readonly outcome: 'not_found' };

/** Enough for every status a run can pass through while we decide. */
const MAX_ROUNDS = 20;

/**
 * Brings evidence to a run: reads the head, asks {@link decide}, and writes what it says, all over again when the
 * head changed meanwhile. Everybody who may end a run comes through here.
 */
export async function settleRun(
  deps: SettleDeps,
  ref: RunRef,
  evidence: Evidence,
): Promise<Settlement> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const head = await deps.ledger.readHead(ref);
    if (!head) return { outcome: 'not_found' };
    const decision = decide(head, evidence);
    switch (decision.action) {
      case 'stay':
        return { outcome: 'stayed', head };
      case 'terminal': {
        const written = await finish(deps, head, decision, evidence);
        if (written.outcome === 'applied') {
          await callWaiting(deps, head);
          return { outcome: 'ended', head: written.head };
        }
        break;
      }
      case 'requeue': {
        const usage = evidence.kind === 'host_result' ? evidence.result.usage : {};
        const requeued = await requeue(deps, head, decision, usage);
        if (requeued) {
          await callWaiting(deps, head);
          return { outcome: 'requeued', head: requeued };
        }
        break;
      }
      default:
        assertNever(decision, 'decision');
    }
  }
  throw new Error(`run ${ref.runId} changed ${MAX_ROUNDS} times while it was being settled`);
}

/** The ending stands whether the next run hears of it or not: the sweeper calls those that nobody called. */
async function callWaiting({ queue, waitList }: SettleDeps, { tenantId, quota }: RunHead) {
  if (!quota || !queue || !waitList) return;
  await callNext({ queue, waitList }, tenantId).catch(() => {});
}

function finish(
  deps: SettleDeps,
  head: RunHead,
  decision: Decision & { action: 'terminal' },
  seen: Evidence,
) {
  const now = isoTime(deps.clock.now());
  const { status, error, result, evidence } = decision;
  const reported = result ?? evidence;
  const usage = reported?.usage ?? {};
  const processTree = treeEvidence(head, seen, reported, now);
  return deps.ledger.finishRun({
    head,
    ending: {
      status,
      usage,
      ...(error ? { error } : {}),
      ...(result ? { result } : {}),
      ...(evidence ? { evidence: { lateResult: evidence } } : {}),
    },
    events: [finalEvent({ status, error, usage, processTree }, now)],
    now,
  });
}

function finalEvent(
  ending: {
    status: ExecutionResult['status'];
    error: ExecutionResult['error'];
    usage: Usage;
    processTree: ExecutionResult['processTree'];
  },
  timestamp: string,
): NewEvent {
  const { status, error, usage, processTree } = ending;
  if (status === 'completed') return platformEvent('run.completed', { usage }, { timestamp });
  const common = { usage, ...(processTree ? { processTree } : {}) };
  if (status === 'cancelled') {
    return platformEvent(
      'run.cancelled',
      { ...common, ...(error ? { error } : {}) },
      { timestamp },
    );
  }
  if (!error) throw new TypeError(`a run cannot end ${status} without saying why`);
  return platformEvent(FINAL_EVENT_TYPES[status], { ...common, error }, { timestamp });
}

/** The message may be lost: the timer on the head makes the sweeper send it again. */
async function requeue(
  deps: SettleDeps,
  head: RunHead,
  decision: Decision & { action: 'requeue' },
  usage: Usage,
): Promise<RunHead | undefined> {
  const now = deps.clock.now();
  const delayMs = retryDelayMs(decision.error, head.attempt, deps.timing.requeueBaseMs);
  const written = await deps.ledger.requeueRun({
    head,
    error: decision.error,
    usage,
    events: [
      platformEvent(
        'run.requeued',
        { attempt: head.attempt, reason: decision.error.message, error: decision.error },
        { timestamp: isoTime(now) },
      ),
    ],
    dueAt: isoTime(
      Math.min(
        now + delayMs + (deps.queue ? deps.timing.queuedCheckMs : 0),
        Date.parse(head.deadlineAt),
      ),
    ),
    now: isoTime(now),
  });
  if (written.outcome !== 'applied') return undefined;
  const message = { schemaVersion: '1', tenantId: head.tenantId, runId: head.runId } as const;
  await deps.queue?.send(message, { delayMs }).catch(() => {});
  return written.head;
}
