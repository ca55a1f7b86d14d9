import {
  type ClaimReply,
  type NewEvent,
  PlatformError,
  platformEvent,
  tripleName,
} from '#shared/contracts/index.ts';
import type { EngineAdapter, EngineLocations } from '#shared/engines/index.ts';
import { type Clock, isoTime } from '#shared/kit/clock.ts';
import { createMasker } from '#shared/masking/index.ts';
import type { Sandbox } from '#shared/process/index.ts';
import { type HostLimits, processLimits } from './host-limits.ts';
import { type PreparedEngine, prepareEngine } from './prepare-engine.ts';
import { runEngine } from './run-engine.ts';
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
  const ended = running.ended
    .then(async ({ result, outcome }) => {
      if (outcome.survivors > 0) {
        await emit([notice(`${outcome.survivors} processes of the run could not be removed`)]);
      }
      return result;
    })
    .finally(() => prepared.leave());
  return {
    stop: running.stop,
    get state() {
      return running.state;
    },
    ended,
  };
}

function hostNotice(message: string, timestamp: string): NewEvent {
  return platformEvent('execution.diagnostic', { kind: 'host_notice', message }, { timestamp });
}
