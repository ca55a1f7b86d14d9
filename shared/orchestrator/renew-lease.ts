import type { ExecutionScope } from '#shared/auth/index.ts';
import type { HeartbeatReply } from '#shared/contracts/index.ts';
import { type Clock, isoTime } from '#shared/kit/clock.ts';
import type { RunLedger } from '#shared/runs/index.ts';
import { authorityLost } from './append-events.ts';
import type { Timing } from './settings.ts';

/**
 * The host is alive: renews its lease and tells it what the platform wants.
 *
 * @throws PlatformError `authority_lost` when the attempt is over
 */
export async function renewLease(
  deps: { ledger: RunLedger; timing: Timing; clock: Clock },
  scope: ExecutionScope,
): Promise<HeartbeatReply> {
  const leaseExpiresAt = isoTime(deps.clock.now() + deps.timing.leaseMs);
  const renewed = await deps.ledger.renewLease(scope, scope.epoch, leaseExpiresAt);
  if (renewed.outcome === 'refused') throw authorityLost(renewed.head?.status ?? 'not found');
  const { head } = renewed;
  return {
    leaseExpiresAt,
    directives:
      head.status === 'cancelling'
        ? [{ kind: 'cancel', reason: head.cancelReason ?? 'cancelled on request' }]
        : [],
  };
}
