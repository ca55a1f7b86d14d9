import { pipeline } from 'node:stream/promises';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { toPlatformError } from '#shared/contracts/index.ts';
import { type Logger, readBlob } from '#shared/orchestrator/index.ts';
import { problemOf } from '../../kit/error-response.ts';
import { parseRequest } from '../../kit/http-function.ts';
import { type ResponseStream, startResponse } from '../../kit/response-stream.ts';
import { runOfPath } from '../../kit/run-path.ts';

/**
 * `GET /v1/runs/{runId}/blobs/{sha256}`: the whole payload of an event that the log holds a preview of, as JSON. It is
 * streamed, because an answer in one piece may have no more than 6 MB with all its escapes.
 */
export function getRunBlobHandler(deps: Parameters<typeof readBlob>[0] & { log: Logger }) {
  return async (
    event: APIGatewayProxyEvent,
    output: ResponseStream,
    context: Context,
  ): Promise<void> => {
    const requestId = event.requestContext?.requestId ?? context.awsRequestId;
    let blob: Awaited<ReturnType<typeof readBlob>>;
    try {
      const request = parseRequest(event, context, {});
      const ref = runOfPath(request.caller().tenantId, request.path);
      blob = await readBlob(deps, ref, request.path.sha256);
    } catch (error) {
      const problem = problemOf(toPlatformError(error), requestId);
      if (problem.status >= 500) deps.log.error({ requestId, error }, 'blob not read');
      startResponse(output, problem.status, { 'content-type': 'application/problem+json' }).end(
        JSON.stringify(problem),
      );
      return;
    }
    const response = startResponse(output, 200, {
      'content-type': 'application/json',
      // Its name is its hash: it never changes.
      'cache-control': 'private, max-age=86400, immutable',
      'x-content-type-options': 'nosniff',
    });
    await pipeline(blob.content, response).catch((error: unknown) => {
      // The reader left, or sees an answer that is shorter than it said.
      deps.log.info({ requestId, error }, 'blob not sent to its end');
    });
  };
}
