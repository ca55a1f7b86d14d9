import { once } from 'node:events';
import { request } from 'node:http';
import type { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import { awslambda, functionOf, startFront, streamingFunctionOf } from './front-fixture.ts';

const open = (stream: Writable, statusCode = 200) =>
  awslambda().HttpResponseStream.from(stream, {
    statusCode,
    headers: { 'content-type': 'text/event-stream' },
  });

const startStream = (
  handler: (event: APIGatewayProxyEvent, stream: Writable) => Promise<void>,
  options: object = {},
) =>
  startFront(
    [{ method: 'GET', path: '/stream', invoke: streamingFunctionOf(handler), streaming: true }],
    options,
  );

describe('a streamed answer', () => {
  it('arrives while the function goes on', async () => {
    const gate = Promise.withResolvers<void>();
    const url = await startStream(async (_event, stream) => {
      const response = open(stream, 203);
      response.write('data: 1\n\n');
      await gate.promise;
      response.end('data: 2\n\n');
    });
    const answer = await fetch(`${url}/stream`);
    expect(answer.status).toBe(203);
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect(await reader?.read()).toEqual({ done: false, value: 'data: 1\n\n' });
    gate.resolve();
    expect(await reader?.read()).toEqual({ done: false, value: 'data: 2\n\n' });
    expect(await reader?.read()).toEqual({ done: true, value: undefined });
  });

  it('B121 is never far ahead of a slow client', async () => {
    const chunk = Buffer.alloc(64 * 1024);
    const total = 64 * 1024 * 1024;
    let written = 0;
    const url = await startStream(async (_event, stream) => {
      const response = open(stream);
      while (written < total) {
        written += chunk.length;
        if (!response.write(chunk)) await once(response, 'drain');
      }
      response.end();
    });
    const outgoing = request(`${url}/stream`);
    outgoing.end();
    const [incoming] = await once(outgoing, 'response');
    let received = 0;
    let furthest = 0;
    for await (const part of incoming) {
      furthest = Math.max(furthest, written - received);
      received += part.length;
      // Slower than the function, so that without backpressure it would be done long before.
      await nextTurn();
    }
    expect(received).toBe(total);
    // What the kernel buffers for a connection on this machine, not what the function would give.
    expect(furthest).toBeLessThan(total / 4);
  });

  it('closes the stream of the function when the client leaves, and lets it run on', async () => {
    const closed = Promise.withResolvers<boolean>();
    const ended = Promise.withResolvers<void>();
    const url = await startStream(async (_event, stream) => {
      const response = open(stream);
      response.write('data: 1\n\n');
      await once(response, 'close');
      closed.resolve(response.destroyed);
      response.write('data: into nothing\n\n');
      ended.resolve();
    });
    const leaving = new AbortController();
    const answer = await fetch(`${url}/stream`, { signal: leaving.signal });
    await answer.body?.getReader().read();
    leaving.abort();
    expect(await closed.promise).toBe(true);
    await ended.promise;
  });

  it('B128 that breaks off is cut, not ended', async () => {
    const url = await startStream(async (_event, stream) => {
      const response = open(stream);
      response.write('data: 1\n\n');
      throw new Error('table is gone');
    });
    await expect(fetch(`${url}/stream`).then((answer) => answer.text())).rejects.toThrow();
  });

  it('is cut when it is silent for too long', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
    const url = await startStream(
      async (_event, stream) => {
        open(stream).write('data: 1\n\n');
        await new Promise(() => {});
      },
      { streamIdleTimeoutMs: 50 },
    );
    await expect(fetch(`${url}/stream`).then((answer) => answer.text())).rejects.toThrow();
    expect(printed).toHaveBeenCalledWith(expect.stringContaining('ran out of time'));
  });

  it('that never begins is 504 when its time is over', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const url = await startStream(() => new Promise(() => {}), { streamTimeoutMs: 50 });
    expect((await fetch(`${url}/stream`)).status).toBe(504);
  });

  it.each([
    ['fails before it begins', () => Promise.reject(new Error('no table'))],
    [
      'ends without a write',
      async (_event: APIGatewayProxyEvent, stream: Writable) => void open(stream).end(),
    ],
    [
      'has no metadata',
      async (_event: APIGatewayProxyEvent, stream: Writable) => void stream.end('raw'),
    ],
    [
      'has no valid status',
      async (_event: APIGatewayProxyEvent, stream: Writable) => void open(stream, 7).end('x'),
    ],
  ])('that %s is 502', async (_what, handler) => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const url = await startStream(handler);
    const answer = await fetch(`${url}/stream`);
    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject({ code: 'internal' });
  });

  it('of a function that does not stream is 502', async () => {
    const invoke = functionOf(() => ({ statusCode: 200, body: 'whole' }));
    const url = await startFront([{ method: 'GET', path: '/stream', invoke, streaming: true }]);
    expect((await fetch(`${url}/stream`)).status).toBe(502);
  });

  it('of a function on a route that does not stream is 502', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const invoke = streamingFunctionOf(async (_event, stream) => void open(stream).end('x'));
    const url = await startFront([{ method: 'GET', path: '/stream', invoke }]);
    expect((await fetch(`${url}/stream`)).status).toBe(502);
  });
});
