import { once } from 'node:events';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Context } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import {
  type InProcessOptions,
  inProcess,
  type LambdaHandler,
  type ResponseMetadata,
  type ResponseSink,
} from '#local/lambda/index.ts';

interface AwsLambda {
  streamifyResponse(handler: LambdaHandler): LambdaHandler;
  HttpResponseStream: { from(stream: Writable, metadata: unknown): Writable };
}
const awslambda = () => (globalThis as unknown as { awslambda: AwsLambda }).awslambda;

const make = (handler: LambdaHandler, options: Partial<InProcessOptions> = {}) =>
  inProcess({
    name: 'api/create-run',
    timeoutMs: 5_000,
    load: async () => handler,
    onError: () => {},
    ...options,
  });

/** Loaded, as a function's module is, when the global is there. */
const makeStreaming = (
  handler: (event: unknown, stream: Writable, context: Context) => Promise<void>,
  options: Partial<InProcessOptions> = {},
) => make(() => {}, { load: async () => awslambda().streamifyResponse(handler), ...options });

class TestSink implements ResponseSink {
  readonly gone = new AbortController();
  readonly readerGone = this.gone.signal;
  readonly starts: (ResponseMetadata | undefined)[] = [];
  readonly chunks: string[] = [];
  /** Chunks that wait for the reader; a reader that takes at once when undefined. */
  waiting: (() => void)[] | undefined;

  start(metadata: ResponseMetadata | undefined): void {
    this.starts.push(metadata);
  }
  write(chunk: Buffer, taken: () => void): void {
    this.chunks.push(chunk.toString());
    if (this.waiting) this.waiting.push(taken);
    else taken();
  }
}

describe('a function in this process', () => {
  it('gets the event as JSON carries it, and a context', async () => {
    const seen = vi.fn((event: unknown, context: Context) => ({ event, id: context.awsRequestId }));
    const invoker = make(seen, { region: 'eu-west-1', accountId: '111122223333', memoryMb: 256 });
    const event = { when: new Date(0), none: undefined, list: [undefined] };
    const outcome = await invoker.invoke(event);
    const context = seen.mock.calls[0]?.[1];
    expect(outcome).toEqual({
      status: 'ok',
      payload: JSON.stringify({
        event: { when: '1970-01-01T00:00:00.000Z', list: [null] },
        id: context?.awsRequestId,
      }),
    });
    expect(context).toMatchObject({
      functionName: 'api/create-run',
      functionVersion: '$LATEST',
      memoryLimitInMB: '256',
      invokedFunctionArn: 'arn:aws:lambda:eu-west-1:111122223333:function:api/create-run',
      logGroupName: '/aws/lambda/api/create-run',
    });
    const remaining = Number(context?.getRemainingTimeInMillis());
    expect(remaining).toBeGreaterThan(0);
    expect(remaining).toBeLessThanOrEqual(5_000);
  });

  it('answers null when the handler returns nothing', async () => {
    expect(await make(() => {}).invoke({})).toEqual({ status: 'ok', payload: 'null' });
  });

  it('tells a thrown error by name, message and trace', async () => {
    const onError = vi.fn();
    const invoker = make(
      () => {
        throw new TypeError('no such run');
      },
      { onError },
    );
    const error = {
      errorType: 'TypeError',
      errorMessage: 'no such run',
      trace: expect.arrayContaining(['TypeError: no such run']),
    };
    expect(await invoker.invoke({})).toEqual({ status: 'error', error });
    expect(onError).toHaveBeenCalledWith('api/create-run', expect.any(String), error);
  });

  it('ends with an error when the handler takes too long', async () => {
    const outcome = await make(() => new Promise(() => {}), { timeoutMs: 20 }).invoke({});
    expect(outcome).toMatchObject({
      status: 'error',
      error: {
        errorType: 'Sandbox.Timedout',
        errorMessage: expect.stringMatching(
          /^RequestId: \S+ Error: Task timed out after 0\.02 seconds$/,
        ),
      },
    });
  });

  it('loads once, and again after a load that failed', async () => {
    const load = vi
      .fn<() => Promise<LambdaHandler>>()
      .mockRejectedValueOnce(new Error('no TABLE_NAME'))
      .mockResolvedValue(() => 1);
    const invoker = make(() => {}, { load });
    expect(await invoker.invoke({})).toMatchObject({
      status: 'error',
      error: { errorMessage: 'no TABLE_NAME' },
    });
    expect(await invoker.invoke({})).toEqual({ status: 'ok', payload: '1' });
    expect(await invoker.invoke({})).toEqual({ status: 'ok', payload: '1' });
    expect(load).toHaveBeenCalledTimes(2);
  });

  it.each([
    [
      'a module without a handler',
      undefined as unknown as LambdaHandler,
      'Runtime.HandlerNotFound',
    ],
    ['an answer that is no JSON', () => 1n, 'Runtime.MarshalError'],
    ['an answer above 6 MB', () => 'x'.repeat(7 * 1024 * 1024), 'Function.ResponseSizeTooLarge'],
  ])('refuses %s', async (_what, handler, errorType) => {
    expect(await make(handler).invoke({})).toMatchObject({
      status: 'error',
      error: { errorType },
    });
  });

  it('refuses an event above 6 MB without calling the handler', async () => {
    const handler = vi.fn();
    expect(await make(handler).invoke({ body: 'x'.repeat(7 * 1024 * 1024) })).toMatchObject({
      error: { errorType: 'RequestTooLargeException' },
    });
    expect(handler).not.toHaveBeenCalled();
  });

  it('throttles above its own limit only', async () => {
    const gate = Promise.withResolvers<void>();
    const handler = () => gate.promise;
    const limited = make(handler, { maxConcurrency: 1 });
    const first = limited.invoke({});
    expect(await limited.invoke({})).toMatchObject({
      error: { errorType: 'TooManyRequestsException' },
    });
    const free = make(handler);
    const many = Array.from({ length: 50 }, () => free.invoke({}));
    gate.resolve();
    expect((await Promise.all([first, ...many])).map(({ status }) => status)).toEqual(
      Array.from({ length: 51 }, () => 'ok'),
    );
  });
});

describe('a streaming function in this process', () => {
  it('sends metadata before the first chunk, then the chunks', async () => {
    const sink = new TestSink();
    const invoker = makeStreaming(async (event, stream) => {
      const metadata = { statusCode: 201, headers: { 'content-type': 'text/event-stream' } };
      const response = awslambda().HttpResponseStream.from(stream, metadata);
      response.write(JSON.stringify(event));
      response.end('end');
    });
    expect(await invoker.stream({ n: 1 }, sink)).toEqual({ status: 'ok', payload: 'null' });
    expect(sink.starts).toEqual([
      { statusCode: 201, headers: { 'content-type': 'text/event-stream' } },
    ]);
    expect(sink.chunks.join('')).toBe('{"n":1}end');
  });

  it('sends no metadata when nothing is written, as the runtime of Lambda does', async () => {
    const sink = new TestSink();
    const invoker = makeStreaming(async (_event, stream) => {
      awslambda().HttpResponseStream.from(stream, { statusCode: 204 }).end();
    });
    expect(await invoker.stream({}, sink)).toMatchObject({ status: 'ok' });
    expect(sink.starts).toEqual([]);
  });

  it('works with pipeline', async () => {
    const sink = new TestSink();
    const invoker = makeStreaming(async (_event, stream) => {
      await pipeline(Readable.from(['a', 'b']), stream);
    });
    expect(await invoker.stream({}, sink)).toMatchObject({ status: 'ok' });
    expect(sink.chunks).toEqual(['a', 'b']);
  });

  it('B121 is held up by a reader that takes nothing', async () => {
    const sink = new TestSink();
    sink.waiting = [];
    let written = 0;
    const invoker = makeStreaming(async (_event, stream) => {
      for (; written < 100; written += 1) {
        if (!stream.write('x'.repeat(16 * 1024))) await once(stream, 'drain');
      }
      stream.end();
    });
    const outcome = invoker.stream({}, sink);
    await vi.waitFor(() => expect(sink.chunks).toHaveLength(1));
    // What the stream itself buffers (64 KiB), and one chunk more.
    expect(written).toBeLessThan(6);
    const take = sink.waiting;
    sink.waiting = undefined;
    for (const taken of take) taken();
    expect(await outcome).toMatchObject({ status: 'ok' });
    expect(sink.chunks.join('')).toHaveLength(100 * 16 * 1024);
  });

  it('sees its stream closed when the reader leaves, runs on, and has not failed', async () => {
    const sink = new TestSink();
    const wasDestroyed: boolean[] = [];
    const invoker = makeStreaming(async (_event, stream) => {
      stream.write('first');
      await once(stream, 'close');
      wasDestroyed.push(stream.destroyed);
      stream.write('into nothing');
      stream.end();
    });
    const outcome = invoker.stream({}, sink);
    await vi.waitFor(() => expect(sink.chunks).toEqual(['first']));
    sink.gone.abort();
    expect(await outcome).toMatchObject({ status: 'ok' });
    expect(wasDestroyed).toEqual([true]);
    expect(sink.chunks).toEqual(['first']);
  });

  it('fails with what its handler throws after the first chunk', async () => {
    const invoker = makeStreaming(async (_event, stream) => {
      stream.write('first');
      throw new Error('table is gone');
    });
    expect(await invoker.stream({}, new TestSink())).toMatchObject({
      error: { errorMessage: 'table is gone' },
    });
  });

  it('times out when its stream is never ended', async () => {
    const invoker = makeStreaming(async (_event, stream) => void stream.write('first'), {
      timeoutMs: 20,
    });
    expect(await invoker.stream({}, new TestSink())).toMatchObject({
      error: { errorType: 'Sandbox.Timedout' },
    });
  });

  it('is an error when its handler does not stream', async () => {
    expect(await make(() => 1).stream({}, new TestSink())).toMatchObject({
      error: { errorType: 'Runtime.NotStreaming' },
    });
  });

  it('is collected with its metadata when it is invoked whole', async () => {
    const invoker = makeStreaming(async (_event, stream) => {
      awslambda().HttpResponseStream.from(stream, { statusCode: 200 }).end('body');
    });
    expect(await invoker.invoke({})).toEqual({
      status: 'ok',
      payload: `{"statusCode":200}${'\0'.repeat(8)}body`,
    });
  });
});
