export {
  type DetectedSandbox,
  type DetectOptions,
  detectSandbox,
  type SandboxProbe,
} from './detect-sandbox.ts';
export {
  PROCESS_TRANSITIONS,
  type ProcessState,
  type ProcessStateChange,
  type ProcessTime,
} from './process-lifecycle.ts';
export type {
  EndCause,
  LaunchFailure,
  ProcessExit,
  ProcessOutcome,
  StopReason,
  TreeSignal,
} from './process-outcome.ts';
export type { ByteMasker, ProcessLimits, ProcessSpec, ResourceLimits } from './process-spec.ts';
export { type FramedRecord, RecordFramer } from './record-framer.ts';
export {
  type Isolation,
  type PreparedSandbox,
  SANDBOX_KINDS,
  type Sandbox,
  SandboxError,
  type SandboxKind,
  type SandboxRun,
} from './sandbox/sandbox.ts';
export type { UserRange } from './sandbox/user-claim.ts';
export {
  type ProcessObservers,
  type StopRequest,
  type Supervised,
  superviseProcess,
  type TreeUse,
} from './supervise.ts';
export { createPrivateWorkdir, type PrivateWorkdir, removeTree, WorkdirError } from './workdir.ts';
