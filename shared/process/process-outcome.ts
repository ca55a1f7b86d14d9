/** Why the host ended a process. The first reason stays. */
export type StopReason =
  | 'cancelled'
  | 'timed_out'
  | 'output_limit'
  | 'memory_limit'
  | 'capability_violation'
  | 'budget_exhausted';

/** What a host sends to make an engine end. */
export type TreeSignal = 'SIGINT' | 'SIGTERM' | 'SIGKILL';

export type EndCause = 'exited' | 'spawn_failed' | StopReason;

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** Why a process never ran the program it was meant to. `code` is one of the platform's error codes. */
export interface LaunchFailure {
  readonly code: 'argument_invalid' | 'engine_not_installed' | 'engine_start_failed';
  /** The system's name for it, such as ENOENT or E2BIG. */
  readonly errno?: string;
  /** For people. Names positions, never values: an argument can be a secret. */
  readonly message: string;
}

/** How a process ended. Given only after everything it left behind was looked for. */
export interface ProcessOutcome {
  readonly cause: EndCause;
  /** Both null when the process never existed or did not end. */
  readonly exit: ProcessExit;
  /** With `spawn_failed` only. */
  readonly failure?: LaunchFailure;
  /** The process itself had to be killed: it outlived its grace. */
  readonly forced: boolean;
  /** Processes of the run that could not be removed; 0 means that the run's tree is verified empty. */
  readonly survivors: number;
  /** Sent to the run's processes, in order; none when it ended by itself and left nothing behind. */
  readonly signals: readonly TreeSignal[];
  /** Processes that were alive when SIGKILL was sent. */
  readonly processesKilled: number;
  /**
   * ISO time of that verification; null while survivors remain. A sandbox that does not isolate processes can
   * only look where it knows.
   */
  readonly verifiedEmptyAt: string | null;
  /** Bytes of stdout as the process wrote them. */
  readonly outputBytes: number;
  readonly stderrBytes: number;
  /** Bytes of stdout that are in no record: cut off long records, or after the output limit. */
  readonly droppedBytes: number;
  /** False when the output was cut while somebody could still write to it, or after its limit. */
  readonly outputComplete: boolean;
  /** Masked. */
  readonly stderrTail: string;
  readonly endedAt: string;
}
