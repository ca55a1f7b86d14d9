import type { ExecutionTokens } from '#shared/auth/index.ts';
import { type ClaimReply, type ClaimRequest, PlatformError } from '#shared/contracts/index.ts';
import { grantCredentials, type Vault } from '#shared/credentials/index.ts';
import { isoTime } from '#shared/kit/clock.ts';
import { decide, executionRequestOf, type RunHead } from '#shared/runs/index.ts';
import type { Logger } from './ports.ts';
import { type SettleDeps, settleRun } from './settle-run.ts';

/** A host may still report after the deadline that it stopped its engine. */
const TOKEN_OUTLIVES_DEADLINE_MS = 10 * 60_000;
/** So many leases without a renewal, and a host kills an engine that another attempt may replace. */
const FENCE_LEASES = 2;

/**
 * ORC-4: lets exactly one host take an attempt. The same host may ask again (its reply was lost) and gets the same
 * answer; a second host, or one whose attempt is over, is refused and must exit.
 *
 * @throws PlatformError `unauthenticated`, `ticket_refused`, `credential_unavailable`
 */
export async function acceptHost(
  deps: SettleDeps & { tokens: ExecutionTokens; vault: Vault; secretsPrefix: string; log: Logger },
  ticket: string,
  request: ClaimRequest,
): Promise<ClaimReply> {
  const scope = deps.tokens.verifyTicket(ticket);
  const now = deps.clock.now();
  const leaseExpiresAt = isoTime(now + deps.timing.leaseMs);
  const [snapshot, specification, position] = await Promise.all([
    deps.ledger.readSnapshot(scope, scope.epoch),
    deps.ledger.readSpecification(scope),
    // Before the claim: whatever seals or ends this attempt lies behind it, so the host cannot start past it.
    deps.ledger.logEnd(scope),
  ]);
  if (!snapshot || !specification) throw refused();
  // Before the claim: a host that cannot get its credentials must not make the attempt look started.
  const credentials = await grantCredentials(deps.vault, deps.secretsPrefix, {
    tenantId: scope.tenantId,
    names: snapshot.credentialNames,
  }).catch(async (error: unknown) => {
    if (error instanceof PlatformError && error.code === 'credential_unavailable') {
      await settleRun(deps, scope, {
        kind: 'launch_failed',
        epoch: scope.epoch,
        error: error.record,
        permanent: true,
      });
    }
    throw error;
  });
  const claim = await deps.ledger.claimByHost({
    ref: scope,
    epoch: scope.epoch,
    hostInstanceId: request.hostInstanceId,
    leaseExpiresAt,
    // Clocks of two machines differ; a run never starts before it was claimed (B106).
    now: isoTime(Math.max(now, Date.parse(snapshot.claimedAt))),
  });
  if (claim.outcome === 'refused') {
    await settleUnclaimed(deps, claim.head, scope.epoch);
    throw refused();
  }
  deps.log.info(
    { runId: scope.runId, epoch: scope.epoch, sandbox: request.sandbox },
    'host accepted',
  );
  return {
    executionToken: deps.tokens.signExecutionToken({
      ...scope,
      expiresAtMs: Date.parse(claim.head.deadlineAt) + TOKEN_OUTLIVES_DEADLINE_MS,
    }),
    request: executionRequestOf(claim.head, specification, snapshot),
    credentials,
    cursor: deps.tokens.signPosition({
      runId: scope.runId,
      epoch: scope.epoch,
      traceId: claim.head.traceId,
      ...position,
    }),
    lease: {
      expiresAt: leaseExpiresAt,
      heartbeatEveryMs: deps.timing.heartbeatEveryMs,
      ...(wouldBeReplaced(claim.head) ? { fenceAfterMs: FENCE_LEASES * deps.timing.leaseMs } : {}),
    },
  };
}

/** Whether another attempt follows when this one's host is taken for lost. */
function wouldBeReplaced(head: RunHead): boolean {
  const { epoch } = head;
  return decide(head, { kind: 'lease_expired', epoch, task: 'missing' }).action === 'requeue';
}

/** A run that is being cancelled and was never claimed can end now: this host was its only life. */
async function settleUnclaimed(
  deps: SettleDeps,
  head: RunHead | undefined,
  epoch: number,
): Promise<void> {
  if (head?.status !== 'cancelling' || head.hostInstanceId || head.epoch !== epoch) return;
  await settleRun(deps, head, { kind: 'never_claimed', epoch });
}

function refused(): PlatformError {
  return new PlatformError('ticket_refused', 'this ticket is used, or its attempt is over', {
    remedy: 'exit: another attempt or an ending has taken the run over',
  });
}
