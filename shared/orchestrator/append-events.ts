import type { ExecutionScope, ExecutionTokens } from '#shared/auth/index.ts';
import {
  type AppendReply,
  type AppendRequest,
  type Directive,
  type EventBatch,
  type NewEvent,
  PlatformError,
} from '#shared/contracts/index.ts';
import type { AppendOutcome, RunLedger } from '#shared/runs/index.ts';

export interface AppendDeps {
  readonly ledger: RunLedger;
  readonly tokens: ExecutionTokens;
}

/**
 * TRM-2, TRM-4: stores a host's events once, in order. The trace id is taken from the run itself.
 *
 * @throws PlatformError `authority_lost` when a seal or the end took the log away, `invalid_cursor`
 */
export async function appendEvents(
  deps: AppendDeps,
  scope: ExecutionScope,
  request: AppendRequest,
): Promise<AppendReply> {
  const appended = await appendBatch(deps, scope, request.cursor, request.batch);
  return {
    cursor: deps.tokens.signPosition({
      runId: scope.runId,
      epoch: scope.epoch,
      traceId: appended.traceId,
      ...appended.position,
    }),
    storedThrough: appended.storedThrough,
    directives: directivesOf(appended.platformEvents),
  };
}

type Stored = Extract<AppendOutcome, { outcome: 'stored' }>;

export async function appendBatch(
  deps: AppendDeps,
  scope: ExecutionScope,
  cursor: string,
  batch: EventBatch,
): Promise<Stored & { traceId: string }> {
  const position = deps.tokens.verifyPosition(cursor);
  if (position.runId !== scope.runId || position.epoch !== scope.epoch) {
    throw new PlatformError('invalid_cursor', 'this cursor is of another run or attempt', {
      field: 'cursor',
    });
  }
  const appended = await deps.ledger.appendPage({
    ref: scope,
    epoch: scope.epoch,
    traceId: position.traceId,
    position,
    firstProducerSequence: batch.firstProducerSequence,
    events: batch.events,
  });
  if (appended.outcome === 'fenced') throw authorityLost(appended.by);
  return { ...appended, traceId: position.traceId };
}

export function authorityLost(by: string): PlatformError {
  return new PlatformError('authority_lost', `this attempt is over (${by})`, {
    remedy: 'kill the engine and exit',
  });
}

/** The host learns of a cancel where it loses a slot to the platform's page. */
function directivesOf(events: readonly NewEvent[]): Directive[] {
  return events
    .filter(({ eventType }) => eventType === 'run.cancel_requested')
    .map(({ payload }) => ({ kind: 'cancel', reason: cancelReason(payload) }));
}

function cancelReason(payload: unknown): string {
  const reason = (payload as { reason?: unknown } | null)?.reason;
  return typeof reason === 'string' ? reason : 'cancelled on request';
}
