import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inProcess, type LambdaHandler, lambdaInvokeApi } from '#local/lambda/index.ts';

async function serve(handler: (event: unknown) => unknown): Promise<string> {
  const invoker = inProcess({
    name: 'mend',
    timeoutMs: 5_000,
    load: async () => handler as LambdaHandler,
    onError: () => {},
  });
  const invoke = lambdaInvokeApi((name) => (name === 'mend' ? invoker : undefined));
  const server = createServer((request, response) => {
    if (!invoke(request, response)) response.writeHead(418).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const call = async (url: string, name: string, body: string, method = 'POST') => {
  const response = await fetch(`${url}/2015-03-31/functions/${name}/invocations`, {
    method,
    ...(method === 'POST' ? { body } : {}),
  });
  const { status, headers } = response;
  return { status, error: headers.get('x-amz-function-error'), body: await response.text() };
};

describe("Lambda's Invoke", () => {
  it('gives the event to the function and its answer back', async () => {
    const url = await serve((event) => ({ got: event }));
    expect(await call(url, 'mend', '{"a":1}')).toEqual({
      status: 200,
      error: null,
      body: '{"got":{"a":1}}',
    });
    expect(await call(url, 'mend', '')).toMatchObject({ body: '{"got":{}}' });
  });

  it('tells of an error of the function in a 200 answer, as Lambda does', async () => {
    const url = await serve(() => {
      throw new TypeError('broken');
    });
    const { status, error, body } = await call(url, 'mend', '{}');
    expect([status, error]).toEqual([200, 'Unhandled']);
    expect(JSON.parse(body)).toMatchObject({ errorType: 'TypeError', errorMessage: 'broken' });
  });

  it('refuses unknown functions and events that are no JSON, and leaves all else to others', async () => {
    const url = await serve(() => null);
    expect(await call(url, 'other', '{}')).toMatchObject({ status: 404 });
    expect(await call(url, 'mend', '{')).toMatchObject({ status: 400 });
    expect(await call(url, 'mend', '', 'GET')).toMatchObject({ status: 418 });
  });
});
