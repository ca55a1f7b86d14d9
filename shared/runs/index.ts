export { decide } from './decide.ts';
export {
  cursorsOf,
  type EventCursor,
  type EventCursors,
  LOG_BEGINNING,
} from './event-cursor.ts';
export {
  type Decision,
  EVIDENCE_KINDS,
  type Evidence,
  type EvidenceKind,
  type TaskState,
} from './evidence.ts';
export { executionRequestOf } from './execution-request-of.ts';
export {
  type AttemptEnd,
  type LogPage,
  type LogPosition,
  type PageKind,
  toAgentEvents,
} from './log-page.ts';
export type { PageImage } from './page-image.ts';
export { type LiveStatus, type Outcome, PRECEDENCE } from './precedence.ts';
export { readEvents, readPageOf } from './read-events.ts';
export { retryDelayMs } from './retry.ts';
export type { RunHead, RunRef } from './run-head.ts';
export { runIdOfKey } from './run-id.ts';
export type {
  AppendOutcome,
  AttemptRecord,
  AttemptSnapshot,
  AttemptTerms,
  CreateOutcome,
  DueCursor,
  DuePage,
  DueTimer,
  Ending,
  EndOutcome,
  HeadWrite,
  LaunchClaim,
  QuotaCounter,
  QuotaRequest,
  RunLedger,
  RunSpecification,
} from './run-ledger.ts';
export { canTransition, isActive, TRANSITIONS } from './run-lifecycle.ts';
