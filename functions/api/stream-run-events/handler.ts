import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { z } from 'zod';
import { toPlatformError } from '#shared/contracts/index.ts';
import type { TimerClock } from '#shared/kit/timer-clock.ts';
import { type LogFeeds, type Logger, openEventStream } from '#shared/orchestrator/index.ts';
import type { RunLedger } from '#shared/runs/index.ts';
import { problemOf } from '../../kit/error-response.ts';
import { parseRequest } from '../../kit/http-function.ts';
import {
  endResponse,
  type ResponseStream,
  sinkOf,
  startResponse,
} from '../../kit/response-stream.ts';
import { runOfPath } from '../../kit/run-path.ts';

const querySchema = z.strictObject({ cursor: z.string().max(200).optional() });

/** A connection ends before its invocation would be cut: the reader resumes by itself. */
const INVOCATION_RESERVE_MS = 10_000;
/** Even without a limit of the invocation; some are ended earlier, so that not all come back at once. */
const MAX_AGE_MS = 14 * 60_000;
const AGE_SPREAD = 0.2;
/** Proxies cut a silent connection after a minute, some after 30 s (B119). */
const HEARTBEAT_MS = 10_000;
const STALL_MS = 30_000;
const RETRY_MIN_MS = 500;
const RETRY_SPREAD_MS = 1_500;

interface StreamDeps {
  readonly ledger: RunLedger;
  readonly feeds: LogFeeds;
  readonly clock: TimerClock;
  readonly log: Logger;
  /** 0 to 1. */
  readonly random: () => number;
}

/**
 * `GET /v1/runs/{runId}/stream`: server-sent events from `Last-Event-ID` or `?cursor=` on, closed after the final
 * event. Closed before it when the caller's token ends or the connection is old: a reader connects again behind the
 * last event it has, with a token that is valid then (B127). Errors before the first event are problem details.
 */
export function streamRunEventsHandler(deps: StreamDeps) {
  return async (
    event: APIGatewayProxyEvent,
    output: ResponseStream,
    context: Context,
  ): Promise<void> => {
    const requestId = event.requestContext?.requestId ?? context.awsRequestId;
    let opened: Awaited<ReturnType<typeof open>>;
    try {
      opened = await open(deps, event, context);
    } catch (error) {
      const problem = problemOf(toPlatformError(error), requestId);
      if (problem.status >= 500) deps.log.error({ requestId, error }, 'stream not opened');
      startResponse(output, problem.status, { 'content-type': 'application/problem+json' }).end(
        JSON.stringify(problem),
      );
      return;
    }
    const response = startResponse(output, 200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    const sink = sinkOf(response);
    try {
      const ending = await opened.follow(sink, {
        endsAtMs: Math.min(opened.expiresAtMs, ageEnd(deps, context)),
        heartbeatMs: HEARTBEAT_MS,
        stallMs: STALL_MS,
        retryMs: RETRY_MIN_MS + Math.floor(deps.random() * RETRY_SPREAD_MS),
      });
      if (ending === 'stalled') deps.log.info({ requestId }, 'stream of a stalled reader cut');
    } catch (error) {
      // The client sees a stream that broke off, and resumes.
      deps.log.error({ requestId, error }, 'stream broke off');
      sink.cut('the log could not be read');
    }
    const leftMs = Math.max(0, context.getRemainingTimeInMillis() - INVOCATION_RESERVE_MS / 2);
    await endResponse(response, deps.clock, Math.min(STALL_MS, leftMs));
  };
}

async function open(deps: StreamDeps, event: APIGatewayProxyEvent, context: Context) {
  const request = parseRequest(event, context, { query: querySchema });
  const { tenantId, expiresAtMs } = request.caller();
  // A reader that resumes by itself repeats its first address; the header is what it has read since.
  const lastEventId = request.headers['last-event-id'];
  const { cursor } = request.query;
  const resume = lastEventId
    ? { cursor: lastEventId, field: 'Last-Event-ID' }
    : cursor === undefined
      ? undefined
      : { cursor, field: 'query.cursor' };
  const follow = await openEventStream(deps, runOfPath(tenantId, request.path), resume);
  return { follow, expiresAtMs };
}

function ageEnd({ clock, random }: StreamDeps, context: Context): number {
  const ageMs = MAX_AGE_MS * (1 - AGE_SPREAD * random());
  const leftMs = context.getRemainingTimeInMillis() - INVOCATION_RESERVE_MS;
  return clock.now() + Math.min(ageMs, leftMs);
}
