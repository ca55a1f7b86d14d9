import type { ClaimReply, ExecutionResult, NewEvent } from '#shared/contracts/index.ts';
import type { ProcessState, StopReason } from '#shared/process/index.ts';

/**
 * Starts the engine of a claimed run. Called once per host. In a task it is a process in a sandbox
 * ({@link superviseEngines}); a simulation scripts it.
 *
 * @throws PlatformError when the engine cannot be started: the run fails with that error
 */
export type StartEngine = (claim: ClaimReply, context: EngineContext) => Promise<StartedEngine>;

export interface EngineContext {
  /** Takes events in order. Await it: it is the backpressure. */
  emit(events: readonly NewEvent[]): Promise<void>;
}

export interface StartedEngine {
  /** Asks the engine to stop, then makes it (`atOnce`: makes it); the first call counts. */
  stop(reason: StopReason, options: { readonly atOnce: boolean }): void;
  readonly state: ProcessState;
  /** What the engine's processes use now; undefined when none is alive. */
  measure?(): Promise<EngineUse | undefined>;
  /** Settles when nothing of the engine is alive and all its events were given to `emit`. */
  readonly ended: Promise<ExecutionResult>;
}

export interface EngineUse {
  readonly processes: number;
  /** Held by these processes alone. */
  readonly memoryBytes: number;
}
