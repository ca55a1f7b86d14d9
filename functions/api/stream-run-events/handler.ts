import { setTimeout as delay } from 'node:timers/promises';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { z } from 'zod';
import { toPlatformError } from '#shared/contracts/index.ts';
import type { Clock } from '#shared/kit/clock.ts';
import { type Logger, openEventStream } from '#shared/orchestrator/index.ts';
import type { RunLedger } from '#shared/runs/index.ts';
import { problemOf } from '../../kit/error-response.ts';
import { parseRequest } from '../../kit/http-function.ts';
import { type ResponseStream, sinkOf, startResponse } from '../../kit/response-stream.ts';
import { runOfPath } from '../../kit/run-path.ts';

const querySchema = z.strictObject({ cursor: z.string().max(200).optional() });

/** Ends before the invocation would be cut: the client resumes by itself. */
const INVOCATION_RESERVE_MS = 5_000;
const HEARTBEAT_MS = 15_000;

/**
 * `GET /v1/runs/{runId}/stream`: server-sent events from `Last-Event-ID` or `?cursor=` on, closed after the final
 * event. Errors before the first event are problem details with their own status.
 */
export function streamRunEventsHandler(deps: {
  ledger: RunLedger;
  clock: Clock;
  log: Logger;
  pollMinMs: number;
  pollMaxMs: number;
}) {
  return async (
    event: APIGatewayProxyEvent,
    output: ResponseStream,
    context: Context,
  ): Promise<void> => {
    const requestId = event.requestContext?.requestId ?? context.awsRequestId;
    let follow: Awaited<ReturnType<typeof openEventStream>>;
    let expiresAtMs: number;
    try {
      const request = parseRequest(event, context, { query: querySchema });
      const caller = request.caller();
      expiresAtMs = caller.expiresAtMs;
      follow = await openEventStream(
        { ...deps, wait: (ms, signal) => delay(ms, undefined, { signal }).catch(() => {}) },
        runOfPath(caller.tenantId, request.path),
        request.headers['last-event-id'] || request.query.cursor,
      );
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
    try {
      await follow(sinkOf(response), {
        endsAtMs: Math.min(
          expiresAtMs,
          deps.clock.now() + context.getRemainingTimeInMillis() - INVOCATION_RESERVE_MS,
        ),
        heartbeatMs: HEARTBEAT_MS,
        pollMinMs: deps.pollMinMs,
        pollMaxMs: deps.pollMaxMs,
      });
    } catch (error) {
      // The client sees a stream that ended without a final event, and resumes.
      deps.log.error({ requestId, error }, 'stream broke off');
    } finally {
      response.end();
    }
  };
}
