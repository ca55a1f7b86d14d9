import {
  type ClaimReply,
  type ExecutionResult,
  type NewEvent,
  PlatformError,
  type ProcessTree,
  platformEvent,
  tripleName,
} from '#shared/contracts/index.ts';
import type { EngineAdapter, EngineLocations } from '#shared/engines/index.ts';
import { type Clock, isoTime } from '#shared/kit/clock.ts';
import { createMasker } from '#shared/masking/index.ts';
import type { ProcessOutcome, Sandbox, SandboxKind } from '#shared/process/index.ts';
import { type HostLimits, processLimits } from './host-limits.ts';
import { type PreparedEngine, prepareEngine } from './prepare-engine.ts';
import { type RunningEngine, runEngine } from './run-engine.ts';
import type { EngineContext, StartEngine, StartedEngine } from './start-engine.ts';

export interface EngineHost {
  readonly adapters: Readonly<Record<string, EngineAdapter>>;
  readonly locations: EngineLocations;
  readonly sandbox: Sandbox;
  /** The runs' private directories are made below it. */
  readonly workRoot: string;
  readonly limits: HostLimits;
  readonly clock: Clock;
  /** Beside the credentials of the run: what must never appear in an event. */
  readonly secrets: readonly string[];
}

/** HST-4: runs the engine of a claim as a process in a private directory and a sandbox, by its adapter. */
export function superviseEngines(host: EngineHost): StartEngine {
  return async (claim, context) => {
    const { request } = claim;
    const adapter = host.adapters[tripleName(request.engine)];
    if (!adapter) {
      throw new PlatformError(
        'engine_not_installed',
        `this host has no adapter ${tripleName(request.engine)}`,
      );
    }
    const prepared = await prepareEngine(host, adapter, claim);
    try {
      return await start(host, claim, prepared, context);
    } catch (error) {
      await prepared.leave();
      throw error;
    }
  };
}

async function start(
  host: EngineHost,
  claim: ClaimReply,
  prepared: PreparedEngine,
  { emit }: EngineContext,
): Promise<StartedEngine> {
  const { clock, limits } = host;
  const notice = (message: string) => hostNotice(message, isoTime(clock.now()));
  if (prepared.sandbox.notes.length > 0) await emit(prepared.sandbox.notes.map(notice));
  const running = runEngine({
    execution: prepared.execution,
    sandbox: prepared.sandbox,
    workdir: prepared.workdir.work,
    limits: processLimits(limits, claim.request, clock.now()),
    graceMs: limits.graceMs,
    masker: createMasker([
      ...Object.values(claim.credentials),
      claim.executionToken,
      ...host.secrets,
    ]),
    clock,
    emit,
  });
  return {
    stop: running.stop,
    get state() {
      return running.state;
    },
    measure: running.measure,
    ended: end(running, prepared, emit, clock),
  };
}

async function end(
  running: RunningEngine,
  prepared: PreparedEngine,
  emit: EngineContext['emit'],
  clock: Clock,
): Promise<ExecutionResult> {
  try {
    const { result, outcome } = await running.ended;
    const at = isoTime(clock.now());
    if (outcome.survivors > 0) {
      await emit([hostNotice(`${outcome.survivors} processes could not be removed`, at)]);
    }
    if (!outcome.outputComplete) await emit([unreadOutput(outcome.droppedBytes, at)]);
    return { ...result, processTree: processTreeOf(outcome, prepared.sandbox.kind) };
  } finally {
    await prepared.leave();
  }
}

/** Output over its limit, or of a pipe that had to be cut, has become no events. */
function unreadOutput(bytes: number, timestamp: string): NewEvent {
  return platformEvent('events.lost', { reason: 'output_unread', bytes }, { timestamp });
}

function processTreeOf(outcome: ProcessOutcome, method: SandboxKind): ProcessTree {
  const { verifiedEmptyAt, signals, processesKilled, survivors } = outcome;
  return {
    verifiedBy: 'host',
    verifiedGoneAt: verifiedEmptyAt,
    method,
    signals: [...signals],
    processesKilled,
    survivors,
  };
}

function hostNotice(message: string, timestamp: string): NewEvent {
  return platformEvent('execution.diagnostic', { kind: 'host_notice', message }, { timestamp });
}
