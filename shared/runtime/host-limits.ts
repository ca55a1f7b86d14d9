import type { ExecutionRequest } from '#shared/contracts/index.ts';
import { MAX_RECORD_BYTES } from '#shared/engines/index.ts';
import type { ProcessLimits } from '#shared/process/index.ts';

/** HST-3: what one engine may use on this host; a run's budget can only be smaller. */
export interface HostLimits {
  readonly outputBytes: number;
  readonly recordBytes: number;
  readonly processes: number;
  readonly fileBytes: number;
  readonly openFiles: number;
  readonly memoryBytes: number;
  /** Between the polite signal and SIGKILL. */
  readonly graceMs: number;
  /** Events on the host's disk while the gateway takes none. */
  readonly spoolBytes: number;
}

export const DEFAULT_HOST_LIMITS: HostLimits = {
  outputBytes: 256 * 1024 * 1024,
  recordBytes: MAX_RECORD_BYTES,
  processes: 512,
  fileBytes: 4 * 1024 ** 3,
  openFiles: 4_096,
  memoryBytes: 4 * 1024 ** 3,
  graceMs: 5_000,
  spoolBytes: 64 * 1024 * 1024,
};

/** The wall clock is what is left until the run's deadline, waiting in the queue included. */
export function processLimits(
  host: HostLimits,
  request: ExecutionRequest,
  now: number,
): ProcessLimits {
  return {
    outputBytes: Math.min(host.outputBytes, request.budget.outputBytes ?? host.outputBytes),
    recordBytes: host.recordBytes,
    processes: host.processes,
    fileBytes: host.fileBytes,
    openFiles: host.openFiles,
    memoryBytes: host.memoryBytes,
    wallClockMs: Math.max(0, Date.parse(request.deadlineAt) - now),
  };
}

/** What a host does while the gateway does not store its events. */
export interface WaitingLimits {
  /** Bytes of events in memory before the engine waits, or the spool is used. */
  readonly memoryBytes: number;
  /** A gateway that stored nothing for this long has stalled: the engine waits no more. */
  readonly stallMs: number;
  /** The engine has ended, heartbeats are answered, no event is stored for this long: the result goes without them. */
  readonly eventsGiveUpMs: number;
  /** The engine has ended and the task is being stopped: the result goes without events that are not stored by then. */
  readonly hurryMs: number;
  /** Other calls are answered, one payload is not kept for this long: the log goes on without it. */
  readonly uploadGiveUpMs: number;
}

export const DEFAULT_WAITING: WaitingLimits = {
  memoryBytes: 4 * 1024 * 1024,
  stallMs: 10_000,
  eventsGiveUpMs: 60_000,
  hurryMs: 10_000,
  uploadGiveUpMs: 60_000,
};
