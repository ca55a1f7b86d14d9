export { acceptHost } from './accept-host.ts';
export { appendEvents } from './append-events.ts';
export { cancelRun } from './cancel-run.ts';
export { cancelRuns } from './cancel-runs.ts';
export { describeEngines } from './describe-engines.ts';
export { type DispatchDeps, dispatchRun } from './dispatch-run.ts';
export type { BusEvent, BusRefusal, EventBus } from './event-bus.ts';
export { type EndingPage, type FoldDeps, foldUsage } from './fold-usage.ts';
export { keepBlob } from './keep-blob.ts';
export { LAUNCH_ANSWERS, LAUNCH_EXCEPTIONS, LAUNCH_FAILURES } from './launch-answers.ts';
export { type LogFeeds, openLogFeeds } from './log-feed.ts';
export type { ParkedRun, ParkedRuns } from './parked-runs.ts';
export type {
  Ids,
  LaunchOutcome,
  LaunchRequest,
  Logger,
  RunQueue,
  TaskControl,
  TaskLauncher,
  TaskSight,
} from './ports.ts';
export { readBlob } from './read-blob.ts';
export { reconcileQuotasChore } from './reconcile-quotas.ts';
export {
  type RedriveDeps,
  type RedriveReport,
  redrivePages,
  redriveRequestSchema,
} from './redrive-pages.ts';
export { type RelayDeps, relayOutbox, type StreamedPage } from './relay-outbox.ts';
export { renewLease } from './renew-lease.ts';
export { reportResult } from './report-result.ts';
export {
  type DeployedEngines,
  deployedEnginesSchema,
  type Timing,
  timingSchema,
} from './settings.ts';
export { type SettleDeps, type Settlement, settleRun } from './settle-run.ts';
export { settleStoppedTask, taskStoppedEventSchema } from './settle-stopped-task.ts';
export { orphanTasksChore } from './stop-orphan-tasks.ts';
export type {
  FailureInbox,
  FailureNotice,
  GivenUpPages,
  StreamFailures,
} from './stream-failures.ts';
export {
  type EventSink,
  openEventStream,
  type StreamEnding,
  type StreamLimits,
} from './stream-run-events.ts';
export { submitRun } from './submit-run.ts';
export { newSweepMemory, type SweepMemory, sweepDueRuns } from './sweep-due-runs.ts';
export { type Chore, openSweeper, type Sweeper } from './sweeper.ts';
export { readTaskStop, STOP_CAUSES, type TaskStop } from './task-stop.ts';
export { listRuns, pageEvents, viewRun } from './view-run.ts';
