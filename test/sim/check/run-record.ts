import type { AgentEvent, RunStatus, Usage } from '#shared/contracts/index.ts';

/** What the log of a run holds, as seen page by page while it was written. */
export interface RunRecord {
  readonly tenantId: string;
  readonly runId: string;
  status: RunStatus | undefined;
  epoch: number;
  attempt: number;
  repeatable: boolean;
  cancelRequested: boolean;
  hostInstanceId: string | undefined;
  /** Virtual time by which the platform must have ended it, but for faults; set with the head. */
  deadlineAt: number;
  endedAt: number | undefined;
  usage: Usage;
  readonly events: AgentEvent[];
  pages: number;
  final: boolean;
  /** Highest epoch that a seal has ended. */
  sealedEpoch: number;
  /** Highest epoch that a host has claimed: only such a one needs a seal. */
  claimedEpoch: number;
  readonly epochs: Map<number, EpochRecord>;
}

/** One attempt's part of a log. */
export interface EpochRecord {
  /** Of the host, as stored. */
  producedThrough: number;
  host: string | undefined;
  /** Number of the last event of the engine. */
  lastMarker: number;
  started: number;
  /** Events that the host says it lost. */
  lost: boolean;
  /** The page that ended the attempt says so. */
  usage: Usage | undefined;
}

export function newRunRecord(tenantId: string, runId: string): RunRecord {
  return {
    tenantId,
    runId,
    status: undefined,
    epoch: 0,
    attempt: 0,
    repeatable: false,
    cancelRequested: false,
    hostInstanceId: undefined,
    deadlineAt: 0,
    endedAt: undefined,
    usage: {},
    events: [],
    pages: 0,
    final: false,
    sealedEpoch: 0,
    claimedEpoch: 0,
    epochs: new Map(),
  };
}

export function epochOf(run: RunRecord, epoch: number): EpochRecord {
  let record = run.epochs.get(epoch);
  if (!record) {
    record = {
      producedThrough: 0,
      host: undefined,
      lastMarker: 0,
      started: 0,
      lost: false,
      usage: undefined,
    };
    run.epochs.set(epoch, record);
  }
  return record;
}
