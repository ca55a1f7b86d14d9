/** What a process is given and what it may use. Nothing is inherited from the host. */
export interface ProcessSpec {
  /** `[file, ...arguments]`; the file is an absolute path. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The whole environment. A sandbox adds at most `PWD` or its own run tag. */
  readonly env: Readonly<Record<string, string>>;
  /** `closed`: end of file at once · bytes: written, then closed · `open`: written to with `write`. */
  readonly stdin: 'closed' | 'open' | { readonly text: string | Uint8Array };
  readonly limits: ProcessLimits;
  readonly masker: ByteMasker;
  /** Between the polite signal and SIGKILL. */
  readonly graceMs: number;
  /** Longest wait, after the end of the process, for an observer that is still busy. Default 30 s. */
  readonly drainMs?: number;
  /** The polite signal. Default SIGTERM. */
  readonly interruptSignal?: 'SIGINT' | 'SIGTERM';
}

export interface ProcessLimits extends ResourceLimits {
  /** Bytes of stdout in all; more ends the process. */
  readonly outputBytes: number;
  /** Bytes of one record; the rest of a longer one is cut off and counted. */
  readonly recordBytes: number;
  /** From the moment the process exists. Absent: no limit. */
  readonly wallClockMs?: number;
  /** Private memory of the whole tree, sampled; more ends the process. */
  readonly memoryBytes?: number;
}

/** Limits that the kernel keeps, where the sandbox can set them for the run alone. */
export interface ResourceLimits {
  /** Processes and threads of the run. Only with an own user or an own user namespace. */
  readonly processes?: number | undefined;
  /** Size of one file. */
  readonly fileBytes?: number | undefined;
  readonly openFiles?: number | undefined;
}

/** The part of a masker that supervision needs (see `#shared/masking`). */
export interface ByteMasker {
  stream(): { push(chunk: Buffer): Buffer[]; end(): Buffer[] };
}

/** @throws RangeError for a limit that is no number one can count or wait with: a fault of the caller. */
export function assertLimits(spec: ProcessSpec): void {
  const { limits } = spec;
  const counted = {
    outputBytes: limits.outputBytes,
    recordBytes: limits.recordBytes,
    memoryBytes: limits.memoryBytes,
    processes: limits.processes,
    fileBytes: limits.fileBytes,
    openFiles: limits.openFiles,
  };
  for (const [name, value] of Object.entries(counted)) {
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0)) {
      throw new RangeError(`${name} must be a positive integer, not ${value}`);
    }
  }
  for (const [name, value] of Object.entries({
    graceMs: spec.graceMs,
    drainMs: spec.drainMs,
    wallClockMs: limits.wallClockMs,
  })) {
    if (value !== undefined && !(Number.isFinite(value) && value >= 0)) {
      throw new RangeError(`${name} must be a finite number of milliseconds, not ${value}`);
    }
  }
}
