import type {
  CapabilityLayers,
  ExecutionError,
  ExecutionRequest,
  ExecutionResult,
  NewEvent,
  RunStatus,
  TerminalStatus,
  Usage,
} from '#shared/contracts/index.ts';
import type { LogPage, LogPosition } from './log-page.ts';
import type { RunHead, RunRef } from './run-head.ts';

/** What a client asked for, kept as it was accepted (defaults filled in). Immutable. */
export interface RunSpecification {
  readonly input: ExecutionRequest['input'];
  readonly config: ExecutionRequest['config'];
  readonly budget: ExecutionRequest['budget'];
  /** Capabilities the client itself gave up. */
  readonly denied: readonly string[];
}

/** What one attempt is allowed and given (CAP-4). */
export interface AttemptTerms {
  readonly capabilities: CapabilityLayers;
  readonly policyVersion: string;
  readonly credentialNames: readonly string[];
}

/** The terms as they were when the attempt was claimed. Immutable, one per epoch. */
export interface AttemptSnapshot extends AttemptTerms {
  readonly attempt: number;
  readonly epoch: number;
  readonly claimedAt: string;
}

/** `endedAt`, `outcome` and `error` come with the end. */
export interface AttemptRecord {
  readonly attempt: number;
  readonly epoch: number;
  readonly claimedAt: string;
  readonly endedAt?: string;
  readonly outcome?: string;
  readonly error?: ExecutionError;
}

export type CreateOutcome =
  | { readonly outcome: 'created'; readonly head: RunHead }
  /** Same id, same body: the run as the first request made it. */
  | { readonly outcome: 'replayed'; readonly head: RunHead }
  | { readonly outcome: 'idempotency_conflict' };

export type LaunchClaim =
  | { readonly outcome: 'claimed'; readonly head: RunHead }
  | { readonly outcome: 'lost'; readonly head: RunHead | undefined }
  | { readonly outcome: 'quota_exceeded'; readonly scope: 'tenant' | 'global' };

/** The counters that a claim takes a slot of, each with its share of the limit. */
export interface QuotaRequest {
  readonly tenantShard: number;
  readonly tenantLimit: number;
  readonly global?: { readonly shard: number; readonly limit: number };
}

/** One counter of live runs: of a tenant, or of the whole platform (`tenantId` undefined). */
export interface QuotaCounter {
  readonly tenantId: string | undefined;
  readonly shard: number;
  readonly live: number;
  /** Rises with every change of `live`: two equal values mean that nothing happened between. */
  readonly moves: number;
}

export type HeadWrite =
  | { readonly outcome: 'applied'; readonly head: RunHead }
  | { readonly outcome: 'refused'; readonly head: RunHead | undefined };

export type AppendOutcome =
  | {
      readonly outcome: 'stored';
      readonly position: LogPosition;
      /** Of the host's own events; may be more than the batch held, when a longer one was stored before. */
      readonly storedThrough: number;
      /** Platform pages met on the way: the host learns of a cancel request here. */
      readonly platformEvents: readonly NewEvent[];
    }
  /** A seal or the end took the log away from this epoch. */
  | { readonly outcome: 'fenced'; readonly by: 'seal' | 'final' };

export interface Ending {
  readonly status: TerminalStatus;
  readonly error?: ExecutionError;
  readonly result?: ExecutionResult;
  /** Of the attempt that ended the run; the head has the sum. */
  readonly usage: Usage;
  /** What the platform knew and did not use as the outcome (a late result), kept for people. */
  readonly evidence?: Record<string, unknown>;
}

export type EndOutcome =
  | { readonly outcome: 'applied'; readonly head: RunHead }
  /** The head is not as the decision saw it: read again and decide again. */
  | { readonly outcome: 'changed'; readonly head: RunHead | undefined };

/** A timer of the due index: of a run's head, or of an item that this ledger does not know. */
export type DueTimer =
  | { readonly kind: 'run'; readonly ref: RunRef; readonly dueAt: string }
  | { readonly kind: 'other'; readonly key: string; readonly dueAt: string };

/** Opaque. */
export type DueCursor = Readonly<Record<string, unknown>>;

export interface DuePage {
  readonly timers: readonly DueTimer[];
  /** Where the next page begins; undefined after the last one. */
  readonly after: DueCursor | undefined;
}

/**
 * The ledger of runs. Every method is one guarded write (or transaction) and safe to repeat: a caller that does not
 * know whether its write landed reads again by identity and converges. Nothing else writes a run's status.
 */
export interface RunLedger {
  /**
   * First log page, with the specification in it, then the head: two puts, each only where nothing is. The head makes
   * it a run; a page without a head is none, and the next request for the same run completes it as the first request
   * meant it. Requests for one run are told apart by `bodyHash` alone.
   */
  createRun(input: {
    head: RunHead;
    specification: RunSpecification;
    events: readonly NewEvent[];
    /** Hash of what the client asked for. */
    bodyHash: string;
  }): Promise<CreateOutcome>;

  readHead(ref: RunRef): Promise<RunHead | undefined>;
  readSpecification(ref: RunRef): Promise<RunSpecification | undefined>;
  readSnapshot(ref: RunRef, epoch: number): Promise<AttemptSnapshot | undefined>;
  readAttempts(ref: RunRef): Promise<AttemptRecord[]>;
  /** Newest first. `cursor` is opaque. */
  listRuns(
    tenantId: string,
    options: { limit: number; cursor?: string | undefined; status?: RunStatus | undefined },
  ): Promise<{ heads: RunHead[]; nextCursor: string | undefined }>;
  /**
   * Runs of a tenant that have not ended, in no order that means anything. A run whose timer moves between two pages
   * may come twice; who wants all of them reads from the start until nothing new comes. `cursor` is opaque.
   */
  liveRuns(
    tenantId: string,
    options: { limit: number; cursor?: string | undefined },
  ): Promise<{ heads: RunHead[]; nextCursor: string | undefined }>;

  /** queued → starting with the next epoch, its quota slots and its snapshot. */
  claimForLaunch(input: {
    head: RunHead;
    terms: AttemptTerms;
    quota: QuotaRequest;
    leaseExpiresAt: string;
    /** A timer that is later than this is moved here; an earlier one stays, which costs nothing. */
    dueBy: string;
    now: string;
  }): Promise<LaunchClaim>;
  /**
   * starting → queued, when no task was made for the claim: its slots and its attempt are given back, and the log has
   * nothing of it. Refused once a task or a host of the epoch is known.
   */
  releaseClaim(input: { head: RunHead; dueAt: string }): Promise<HeadWrite>;
  /** Keeps the task's name on the head, for cancel and sweep. Refused once the epoch is over. */
  recordTask(ref: RunRef, epoch: number, taskArn: string): Promise<HeadWrite>;
  /** starting → running, by the one host that presents the ticket of this epoch. Repeats by the same host apply. */
  claimByHost(input: {
    ref: RunRef;
    epoch: number;
    hostInstanceId: string;
    leaseExpiresAt: string;
    now: string;
  }): Promise<HeadWrite>;
  /** The host is alive; the due index is not touched. */
  renewLease(ref: RunRef, epoch: number, leaseExpiresAt: string): Promise<HeadWrite>;
  /** starting/running → cancelling, with the platform's page in the log. */
  requestCancel(input: {
    head: RunHead;
    reason: string | undefined;
    event: NewEvent;
    now: string;
    dueAt: string;
  }): Promise<EndOutcome>;
  /** Terminal status, final page with the attempt's end and usage, quota release: one transaction. */
  finishRun(input: {
    head: RunHead;
    ending: Ending;
    events: readonly NewEvent[];
    now: string;
  }): Promise<EndOutcome>;
  /** Back to queued for another attempt: the seal page, which fences the old epoch, holds the attempt's end. */
  requeueRun(input: {
    head: RunHead;
    events: readonly NewEvent[];
    error: ExecutionError;
    usage: Usage;
    dueAt: string;
    now: string;
  }): Promise<EndOutcome>;

  /** Where the next page of the log goes now. */
  logEnd(ref: RunRef): Promise<LogPosition>;
  appendPage(input: {
    ref: RunRef;
    epoch: number;
    traceId: string;
    position: LogPosition;
    firstProducerSequence: number;
    events: readonly NewEvent[];
  }): Promise<AppendOutcome>;
  /** Pages after `afterIndex`, in order. */
  readPages(ref: RunRef, afterIndex: number, limit: number): Promise<LogPage[]>;
  readEnding(ref: RunRef, finalPage: number): Promise<Ending | undefined>;

  /** Timers that are due, oldest first, a page at a time; a moment behind the heads. */
  dueTimers(
    shard: number,
    now: string,
    options: { limit: number; after?: DueCursor | undefined },
  ): Promise<DuePage>;
  /**
   * Moves the timer if it is still the one that was seen. With `seenStatus`, only while the run has it: what is far
   * enough for a queued run is too far for a live one.
   */
  moveTimer(
    ref: RunRef,
    seenDueAt: string,
    dueAt: string,
    seenStatus?: RunStatus,
  ): Promise<HeadWrite>;

  /** All counters of one of `QUOTA_PARTITIONS` partitions. */
  listQuotaCounters(partition: number): Promise<QuotaCounter[]>;
  /** Sets a counter right that is still as it was seen: nothing took or gave a slot since. */
  correctQuota(seen: QuotaCounter, live: number): Promise<'corrected' | 'moved'>;
}
