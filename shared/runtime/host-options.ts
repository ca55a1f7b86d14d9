import type { Clock } from '#shared/kit/clock.ts';
import type { GatewayClient } from './gateway-client.ts';
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
