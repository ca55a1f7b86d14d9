import {
  type ClaimReply,
  type Directive,
  type ExecutionError,
  type ExecutionResult,
  executionError,
  type NewEvent,
  platformEvent,
  type ResultReply,
  toPlatformError,
} from '#shared/contracts/index.ts';
import { type Clock, isoTime } from '#shared/kit/clock.ts';
import type { StopReason } from '#shared/process/index.ts';
import { EventPump } from './event-pump.ts';
import { AuthorityLost, type GatewayClient, GatewayUnreachable } from './gateway-client.ts';
import { Heartbeat } from './heartbeat.ts';
import type { StartEngine, StartedEngine } from './start-engine.ts';

export interface HostOptions {
  readonly gateway: GatewayClient;
  readonly ticket: string;
  readonly hostInstanceId: string;
  readonly hostVersion: string;
  /** Kind of sandbox, for the run's first event. */
  readonly sandbox: string;
  readonly startEngine: StartEngine;
  readonly clock: Clock;
  /** Told of faults of the host's own code, for its log. */
  readonly onFault: (error: unknown) => void;
  /** Aborted when the task itself is told to stop (SIGTERM). */
  readonly taskStopping: AbortSignal;
}

export type HostOutcome =
  | { readonly outcome: 'reported'; readonly reply: ResultReply }
  /** Another attempt or an ending took the run over; the engine is dead, nothing was reported. */
  | { readonly outcome: 'authority_lost'; readonly reason: string }
  | { readonly outcome: 'unreachable'; readonly reason: string };

/** What the host itself knows of why the engine is to stop. The first reason stays. */
interface Control {
  stopped: StopReason | undefined;
  /** The task is being taken away, and nobody asked for a cancel. */
  interrupted: boolean;
  lost: AuthorityLost | GatewayUnreachable | undefined;
  engine: StartedEngine | undefined;
}

/** HST-1…HST-4: takes one run, supervises its engine, reports its events and its end. One call is one task's life. */
export async function runHost(options: HostOptions): Promise<HostOutcome> {
  let claim: ClaimReply;
  try {
    claim = await options.gateway.claim(options.ticket, {
      hostInstanceId: options.hostInstanceId,
      hostVersion: options.hostVersion,
      sandbox: options.sandbox,
    });
  } catch (error) {
    return lostOutcome(error);
  }
  const control: Control = {
    stopped: undefined,
    interrupted: false,
    lost: undefined,
    engine: undefined,
  };
  const stop = (reason: StopReason) => {
    control.stopped ??= reason;
    control.engine?.stop(reason);
  };
  const lose = (error: unknown) => {
    if (!(error instanceof AuthorityLost || error instanceof GatewayUnreachable)) throw error;
    control.lost ??= error;
    stop('cancelled');
  };
  const onDirective = (directive: Directive) => {
    if (directive.kind === 'cancel') stop('cancelled');
  };

  const runId = claim.request.executionId;
  const pump = new EventPump({
    cursor: claim.cursor,
    send: (request) => options.gateway.append(claim.executionToken, runId, request),
    onDirective,
    onFailure: lose,
  });
  const heartbeat = new Heartbeat({
    everyMs: claim.lease.heartbeatEveryMs,
    beat: (signal) =>
      options.gateway.heartbeat(
        claim.executionToken,
        runId,
        { state: control.engine?.state ?? 'start' },
        signal,
      ),
    onDirective,
    onFailure: lose,
  });
  heartbeat.start();
  watchTask(options.taskStopping, heartbeat, control, stop);

  const result = await execute(options, claim, control, (events) => pump.push(events));
  heartbeat.stop();
  if (control.lost) return lostOutcome(control.lost);
  try {
    const rest = await pump.drain();
    if (control.lost) return lostOutcome(control.lost);
    return {
      outcome: 'reported',
      reply: await options.gateway.result(claim.executionToken, runId, { ...rest, result }),
    };
  } catch (error) {
    return lostOutcome(error);
  }
}

/** A task is stopped for a cancel or by the infrastructure; only the platform knows, so it is asked before acting. */
function watchTask(
  taskStopping: AbortSignal,
  heartbeat: Heartbeat,
  control: Control,
  stop: (reason: StopReason) => void,
): void {
  const onStop = async () => {
    await heartbeat.beatNow();
    if (!control.stopped) control.interrupted = true;
    stop('cancelled');
  };
  if (taskStopping.aborted) void onStop();
  else taskStopping.addEventListener('abort', () => void onStop(), { once: true });
}

async function execute(
  options: HostOptions,
  claim: ClaimReply,
  control: Control,
  emit: (events: readonly NewEvent[]) => Promise<void>,
): Promise<ExecutionResult> {
  const { request } = claim;
  await emit([
    platformEvent(
      'run.started',
      { attempt: request.attempt, sandbox: options.sandbox },
      { timestamp: isoTime(options.clock.now()) },
    ),
  ]);
  try {
    const engine = await options.startEngine(claim, { emit });
    control.engine = engine;
    // A cancel may have come while everything was being made ready.
    if (control.stopped) engine.stop(control.stopped);
    const result = await engine.ended;
    return control.interrupted ? interruptedResult(result) : result;
  } catch (error) {
    const { record } = toPlatformError(error);
    if (record.code === 'internal') options.onFault(error);
    return failedResult(record);
  }
}

/** The infrastructure took the task away: that is no cancel of the client, and another attempt may be made. */
function interruptedResult(result: ExecutionResult): ExecutionResult {
  if (result.status !== 'cancelled') return result;
  const error = executionError('host_lost', 'the task was stopped by the infrastructure', {
    sideEffects: 'maybe',
  });
  return { ...result, status: 'failed', error };
}

function failedResult(error: ExecutionError): ExecutionResult {
  return {
    schemaVersion: '1',
    status: error.class === 'Timeout' ? 'timed_out' : 'failed',
    output: null,
    artifacts: [],
    usage: {},
    metadata: {},
    error,
  };
}

function lostOutcome(error: unknown): HostOutcome {
  if (error instanceof AuthorityLost) {
    return { outcome: 'authority_lost', reason: `${error.status} ${error.message}` };
  }
  if (error instanceof GatewayUnreachable) return { outcome: 'unreachable', reason: error.message };
  throw error;
}
