import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import type { EventSink } from '#shared/orchestrator/index.ts';

/** The response stream of a Lambda function with response streaming. */
export type ResponseStream = Writable;

type StreamingHandler = (
  event: APIGatewayProxyEvent,
  output: ResponseStream,
  context: Context,
) => Promise<void>;

/** What the Node.js runtime of Lambda (and the local runner) puts into the global scope. */
interface StreamingRuntime {
  streamifyResponse(handler: StreamingHandler): StreamingHandler;
  readonly HttpResponseStream: {
    from(
      output: ResponseStream,
      metadata: { statusCode: number; headers: Record<string, string> },
    ): Writable;
  };
}

function runtime(): StreamingRuntime {
  return (globalThis as unknown as { awslambda: StreamingRuntime }).awslambda;
}

export function streamifyResponse(handler: StreamingHandler): StreamingHandler {
  return runtime().streamifyResponse(handler);
}

export function startResponse(
  output: ResponseStream,
  statusCode: number,
  headers: Record<string, string>,
): Writable {
  return runtime().HttpResponseStream.from(output, { statusCode, headers });
}

/** Writes with backpressure: a stalled client stalls its own stream and holds no more than one buffer. */
export function sinkOf(response: Writable): EventSink {
  const closed = new AbortController();
  const close = () => closed.abort();
  response.once('close', close);
  response.once('error', close);
  return {
    closed: closed.signal,
    async write(text) {
      if (closed.signal.aborted || response.write(text)) return;
      await once(response, 'drain', { signal: closed.signal }).catch(() => {});
    },
  };
}
