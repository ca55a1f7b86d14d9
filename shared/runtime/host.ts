import type { ClaimReply, ResultReply } from '#shared/contracts/index.ts';
import { ClaimedRun } from './claimed-run.ts';
import { AuthorityLost, GatewayRefused, GatewayUnreachable } from './gateway-client.ts';
import type { HostOptions } from './host-options.ts';

export type HostOutcome =
  | { readonly outcome: 'reported'; readonly reply: ResultReply }
  /** Another attempt or an ending took the run over; the engine is dead, nothing was reported. */
  | { readonly outcome: 'authority_lost'; readonly reason: string }
  /** Nobody took the result, for as long as it could still count. */
  | { readonly outcome: 'unreachable'; readonly reason: string };

/** HST-1…HST-5: takes one run, supervises its engine, reports its events and its end. One call is one task's life. */
export async function runHost(options: HostOptions): Promise<HostOutcome> {
  const { clock, gateway } = options;
  const askedAtMs = clock.now();
  try {
    const claim = await claimRun(options);
    // The try that was answered began no longer ago than a request may take: the lease is not older than that.
    const claimedAtMs = Math.max(askedAtMs, clock.now() - gateway.requestTimeoutMs);
    return { outcome: 'reported', reply: await new ClaimedRun(options, claim).live(claimedAtMs) };
  } catch (error) {
    return outcomeOf(error);
  } finally {
    await options.spool?.store.discard().catch(options.onFault);
  }
}

function claimRun(options: HostOptions): Promise<ClaimReply> {
  const { gateway, ticket, hostInstanceId, hostVersion, sandbox } = options;
  return gateway.claim(
    ticket,
    { hostInstanceId, hostVersion, sandbox },
    // Nothing has begun yet: a task that is taken away leaves the run to another one.
    { signal: abortedBy(options.taskStopping) },
  );
}

function abortedBy(taskStopping: AbortSignal): AbortSignal {
  const stop = new AbortController();
  const onStop = () => stop.abort(new GatewayUnreachable('the task was stopped before its claim'));
  if (taskStopping.aborted) onStop();
  else taskStopping.addEventListener('abort', onStop, { once: true });
  return stop.signal;
}

function outcomeOf(error: unknown): HostOutcome {
  if (error instanceof AuthorityLost) {
    return { outcome: 'authority_lost', reason: `${error.status} ${error.message}` };
  }
  if (error instanceof GatewayUnreachable || error instanceof GatewayRefused) {
    return { outcome: 'unreachable', reason: error.message };
  }
  throw error;
}
