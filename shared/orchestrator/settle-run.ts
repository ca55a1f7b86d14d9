import {
  type ExecutionResult,
  FINAL_EVENT_TYPES,
  type NewEvent,
  platformEvent,
  type Usage,
} from '#shared/contracts/index.ts';
import { assertNever } from '#shared/kit/assert-never.ts';
import { backoffMs } from '#shared/kit/backoff.ts';
import { type Clock, isoTime } from '#shared/kit/clock.ts';
import {
  type Decision,
  decide,
  type Evidence,
  type RunHead,
  type RunLedger,
  type RunRef,
} from '#shared/runs/index.ts';
import type { RunQueue } from './ports.ts';
import type { Timing } from './settings.ts';

export interface SettleDeps {
  readonly ledger: RunLedger;
  /** Absent where a requeue is rare: the sweeper then sends the message when its timer is due. */
  readonly queue?: RunQueue;
  readonly timing: Timing;
  readonly clock: Clock;
}

export type Settlement =
  | { readonly outcome: 'stayed' | 'ended' | 'requeued'; readonly head: RunHead }
  | { readonly outcome: 'not_found' };

/** Enough for every status a run can pass through while we decide. */
const MAX_ROUNDS = 20;
const MAX_REQUEUE_DELAY_MS = 5 * 60_000;

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
        const written = await finish(deps, head, decision);
        if (written.outcome === 'applied') return { outcome: 'ended', head: written.head };
        break;
      }
      case 'requeue': {
        const usage = evidence.kind === 'host_result' ? evidence.result.usage : {};
        const requeued = await requeue(deps, head, decision, usage);
        if (requeued) return { outcome: 'requeued', head: requeued };
        break;
      }
      default:
        assertNever(decision, 'decision');
    }
  }
  throw new Error(`run ${ref.runId} changed ${MAX_ROUNDS} times while it was being settled`);
}

function finish(deps: SettleDeps, head: RunHead, decision: Decision & { action: 'terminal' }) {
  const now = isoTime(deps.clock.now());
  const usage = (decision.result ?? decision.evidence)?.usage ?? {};
  const { status, error, result, evidence } = decision;
  return deps.ledger.finishRun({
    head,
    ending: {
      status,
      usage,
      ...(error ? { error } : {}),
      ...(result ? { result } : {}),
      ...(evidence ? { evidence: { lateResult: evidence } } : {}),
    },
    events: [finalEvent(decision, usage, now)],
    now,
  });
}

function finalEvent(
  decision: { status: ExecutionResult['status']; error?: ExecutionResult['error'] },
  usage: Usage,
  timestamp: string,
): NewEvent {
  const { status, error } = decision;
  if (status === 'completed') return platformEvent('run.completed', { usage }, { timestamp });
  if (status === 'cancelled') {
    return platformEvent('run.cancelled', { usage, ...(error ? { error } : {}) }, { timestamp });
  }
  if (!error) throw new TypeError(`a run cannot end ${status} without saying why`);
  return platformEvent(FINAL_EVENT_TYPES[status], { usage, error }, { timestamp });
}

/** The message may be lost: the timer on the head makes the sweeper send it again. */
async function requeue(
  deps: SettleDeps,
  head: RunHead,
  decision: Decision & { action: 'requeue' },
  usage: Usage,
): Promise<RunHead | undefined> {
  const now = deps.clock.now();
  const delayMs = Math.max(
    500,
    backoffMs(head.attempt, { baseMs: deps.timing.requeueBaseMs, maxMs: MAX_REQUEUE_DELAY_MS }),
  );
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
  await deps.queue?.send(
    { schemaVersion: '1', tenantId: head.tenantId, runId: head.runId },
    { delayMs },
  );
  return written.head;
}
