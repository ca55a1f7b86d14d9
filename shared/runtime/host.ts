import type { ClaimReply, ResultReply } from '#shared/contracts/index.ts';
import type { Clock } from '#shared/kit/clock.ts';
import { ClaimedRun } from './claimed-run.ts';
import {
  AuthorityLost,
  type GatewayClient,
  GatewayRefused,
  GatewayUnreachable,
} from './gateway-client.ts';
import type { WaitingLimits } from './host-limits.ts';
import type { Spool } from './spool.ts';
import type { StartEngine } from './start-engine.ts';

/** What a host needs of the world. Beside these it uses `setTimeout` and `clearTimeout` and nothing else. */
export interface HostOptions {
  readonly gateway: GatewayClient;
  readonly ticket: string;
  readonly hostInstanceId: string;
  readonly hostVersion: string;
  /** Kind of sandbox, for the run's first event. */
  readonly sandbox: string;
  readonly startEngine: StartEngine;
  /** Where events wait while the gateway takes none, and how many bytes of them. Left out: in memory alone. */
  readonly spool?: { readonly store: Spool; readonly bytes: number };
  /** {@link DEFAULT_WAITING} for what is left out. */
  readonly waiting?: Partial<WaitingLimits>;
  readonly clock: Clock;
  /** Resident memory of this process, in bytes. Left out: the heartbeats do not say. */
  readonly hostRssBytes?: () => number;
  /** Told of faults of the host's own code and of events it could not keep, for its log. */
  readonly onFault: (error: unknown) => void;
  /** Aborted when the task itself is told to stop (SIGTERM). */
  readonly taskStopping: AbortSignal;
}

export type HostOutcome =
  | { readonly outcome: 'reported'; readonly reply: ResultReply }
  /** Another attempt or an ending took the run over; the engine is dead, nothing was reported. */
  | { readonly outcome: 'authority_lost'; readonly reason: string }
  /** Nobody took the result, for as long as it could still count. */
  | { readonly outcome: 'unreachable'; readonly reason: string };

/** HST-1…HST-5: takes one run, supervises its engine, reports its events and its end. One call is one task's life. */
export async function runHost(options: HostOptions): Promise<HostOutcome> {
  const claimedAtMs = options.clock.now();
  try {
    const claim = await claimRun(options);
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
