import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import type { TimerClock } from '#shared/kit/timer-clock.ts';
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

/** Writes with backpressure: a stalled client stalls its own stream and holds no more than one buffer (B121). */
export function sinkOf(response: Writable): EventSink {
  const closed = new AbortController();
  const close = () => closed.abort();
  response.once('close', close);
  response.on('error', close);
  return {
    closed: closed.signal,
    write(bytes) {
      if (closed.signal.aborted || response.write(bytes)) return undefined;
      return once(response, 'drain', { signal: closed.signal }).then(
        () => {},
        () => {},
      );
    },
    cut(reason) {
      response.destroy(new Error(reason));
    },
  };
}

/** Ends the response; one that its reader does not take within `ms` is cut, and holds up nobody. */
export function endResponse(response: Writable, clock: TimerClock, ms: number): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const takeBack = clock.after(ms, () => response.destroy(new Error('the end was not taken')));
    const done = () => {
      takeBack();
      resolve();
    };
    response.once('finish', done).once('close', done);
    response.end();
  });
}
