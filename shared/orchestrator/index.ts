export { acceptHost } from './accept-host.ts';
export { appendEvents } from './append-events.ts';
export { cancelRun } from './cancel-run.ts';
export { describeEngines } from './describe-engines.ts';
export { type DispatchDeps, dispatchRun } from './dispatch-run.ts';
export type {
  BusEvent,
  EventBus,
  Ids,
  LaunchOutcome,
  LaunchRequest,
  Logger,
  RunQueue,
  TaskControl,
  TaskLauncher,
} from './ports.ts';
export { type OutboxPage, relayOutbox } from './relay-outbox.ts';
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
export { type EventSink, openEventStream } from './stream-run-events.ts';
export { submitRun } from './submit-run.ts';
export { sweepDueRuns } from './sweep-due-runs.ts';
export { listRuns, pageEvents, viewRun } from './view-run.ts';
