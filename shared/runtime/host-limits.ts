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
