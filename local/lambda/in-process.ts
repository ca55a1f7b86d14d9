import { randomUUID } from 'node:crypto';
import { finished } from 'node:stream/promises';
import type { Context } from 'aws-lambda';
import type { FunctionError, InvokeOutcome, LambdaInvoker, ResponseSink } from './invoker.ts';
import {
  CollectingSink,
  installAwsLambdaGlobal,
  isStreaming,
  type LambdaHandler,
  LambdaResponseStream,
} from './response-stream.ts';

/** Of a synchronous invocation, both ways. */
const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

export interface InProcessOptions {
  readonly name: string;
  readonly timeoutMs: number;
  /** Called at the first invocation, and again at the next one when it failed. */
  readonly load: () => Promise<LambdaHandler>;
  readonly memoryMb?: number;
  readonly region?: string;
  readonly accountId?: string;
  /** Invocations above this are throttled, as with reserved concurrency. Unlimited by default. */
  readonly maxConcurrency?: number;
  /** Told of each failed invocation; by default a line on stderr. */
  readonly onError?: (name: string, awsRequestId: string, error: FunctionError) => void;
}

type Work = (handler: LambdaHandler, event: unknown, context: Context) => Promise<string>;

/**
 * Runs a handler in this process. Unlike Lambda it cannot stop a handler that runs too long: the invocation
 * ends with an error and the handler goes on unheard. Environment and module state are those of the process.
 */
export function inProcess(options: InProcessOptions): LambdaInvoker {
  const { name, region = 'us-east-1', accountId = '000000000000' } = options;
  const arn = `arn:aws:lambda:${region}:${accountId}:function:${name}`;
  const loadOnce = loader(options.load);
  let running = 0;

  const perform = async (event: unknown, work: Work): Promise<InvokeOutcome> => {
    if (running >= (options.maxConcurrency ?? Number.POSITIVE_INFINITY)) {
      return failed('TooManyRequestsException', 'Rate Exceeded.');
    }
    const awsRequestId = randomUUID();
    const report = (error: FunctionError): InvokeOutcome => {
      (options.onError ?? printError)(name, awsRequestId, error);
      return { status: 'error', error };
    };
    running += 1;
    const deadline = new Deadline(awsRequestId, options.timeoutMs);
    try {
      const sent = JSON.stringify(event) ?? 'null';
      if (Buffer.byteLength(sent) > MAX_PAYLOAD_BYTES) {
        return failed('RequestTooLargeException', 'Request must be smaller than 6291456 bytes.');
      }
      const handler = await deadline.limit(loadOnce());
      const context = contextOf({ ...options, arn }, awsRequestId, deadline);
      const payload = await deadline.limit(work(handler, JSON.parse(sent), context));
      if (Buffer.byteLength(payload) > MAX_PAYLOAD_BYTES) {
        const message = `Response payload size exceeded maximum allowed payload size (${MAX_PAYLOAD_BYTES} bytes).`;
        return report({ errorType: 'Function.ResponseSizeTooLarge', errorMessage: message });
      }
      return { status: 'ok', payload };
    } catch (error) {
      return report(toFunctionError(error));
    } finally {
      running -= 1;
      deadline.clear();
    }
  };

  return {
    name,
    arn,
    invoke: (event) =>
      perform(event, async (handler, sent, context) => {
        if (!isStreaming(handler)) return toPayload(await call(handler, sent, context));
        const sink = new CollectingSink();
        await runStreaming(handler, sent, context, sink);
        return sink.text();
      }),
    stream: (event, sink) =>
      perform(event, async (handler, sent, context) => {
        if (!isStreaming(handler)) {
          const message = `${name} is not made with awslambda.streamifyResponse`;
          throw Object.assign(new Error(message), { name: 'Runtime.NotStreaming' });
        }
        await runStreaming(handler, sent, context, sink);
        return 'null';
      }),
  };
}

async function runStreaming(
  handler: LambdaHandler,
  event: unknown,
  context: Context,
  sink: ResponseSink,
): Promise<void> {
  const stream = new LambdaResponseStream(sink);
  const closed = finished(stream).catch((error: unknown) => {
    // The reader left: for the function that is no failure.
    if (!sink.readerGone.aborted) throw error;
  });
  closed.catch(() => {});
  try {
    await call(handler, event, stream, context);
    await closed;
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

/** Handlers are checked by their authors; here any of them is only called. */
const call = async (handler: LambdaHandler, ...parameters: unknown[]): Promise<unknown> =>
  await (handler as (...parameters: unknown[]) => unknown)(...parameters);

function loader(load: () => Promise<LambdaHandler>): () => Promise<LambdaHandler> {
  let loading: Promise<LambdaHandler> | undefined;
  return () => {
    installAwsLambdaGlobal();
    loading ??= load().then((handler) => {
      if (typeof handler === 'function') return handler;
      throw Object.assign(new Error('handler is undefined or not exported'), {
        name: 'Runtime.HandlerNotFound',
      });
    });
    loading.catch(() => {
      loading = undefined;
    });
    return loading;
  };
}

class Deadline {
  readonly #endsAt: number;
  readonly #timer: NodeJS.Timeout;
  readonly #over: Promise<never>;

  constructor(awsRequestId: string, timeoutMs: number) {
    this.#endsAt = Date.now() + timeoutMs;
    const { promise, reject } = Promise.withResolvers<never>();
    // Unheard when the invocation ends in time.
    promise.catch(() => {});
    this.#over = promise;
    this.#timer = setTimeout(() => {
      const seconds = (timeoutMs / 1000).toFixed(2);
      const message = `RequestId: ${awsRequestId} Error: Task timed out after ${seconds} seconds`;
      reject(Object.assign(new Error(message), { name: 'Sandbox.Timedout' }));
    }, timeoutMs);
  }

  get remainingMs(): number {
    return Math.max(0, this.#endsAt - Date.now());
  }

  limit<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#over]);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

function contextOf(
  options: InProcessOptions & { arn: string },
  awsRequestId: string,
  deadline: Deadline,
): Context {
  const { name, arn, memoryMb = 512 } = options;
  const gone = () => {
    throw new Error('callback style is not supported by the Node.js 24 runtime; return a promise');
  };
  return {
    awsRequestId,
    functionName: name,
    functionVersion: '$LATEST',
    invokedFunctionArn: arn,
    memoryLimitInMB: String(memoryMb),
    logGroupName: `/aws/lambda/${name}`,
    logStreamName: 'local',
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => deadline.remainingMs,
    done: gone,
    fail: gone,
    succeed: gone,
  };
}

const failed = (errorType: string, errorMessage: string): InvokeOutcome => ({
  status: 'error',
  error: { errorType, errorMessage },
});

function toPayload(result: unknown): string {
  try {
    return JSON.stringify(result) ?? 'null';
  } catch (error) {
    const message = `Unable to stringify response body: ${(error as Error).message}`;
    throw Object.assign(new Error(message), { name: 'Runtime.MarshalError' });
  }
}

function toFunctionError(error: unknown): FunctionError {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: String(error) };
  const trace = error.stack?.split('\n');
  return { errorType: error.name, errorMessage: error.message, ...(trace ? { trace } : {}) };
}

function printError(name: string, awsRequestId: string, error: FunctionError): void {
  const text = error.trace?.join('\n') ?? `${error.errorType}: ${error.errorMessage}`;
  console.error(`lambda ${name} ${awsRequestId}: ${text}`);
}
