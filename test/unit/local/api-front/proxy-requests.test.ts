import { once } from 'node:events';
import { connect } from 'node:net';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import { echo, functionOf, startFront } from './front-fixture.ts';

describe('a request', () => {
  it('becomes the event of API Gateway', async () => {
    const url = await startFront([{ method: 'POST', path: '/v1/runs/{runId}', invoke: echo }], {
      place: { stage: 'dev', apiId: 'abc' },
    });
    const answer = await fetch(`${url}/v1/runs/r%201?x=1&x=2&y=a%20b`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'X-Own': 'Zäh', 'user-agent': 'test' },
      body: '{"a":"ä"}',
    });
    const event = (await answer.json()) as APIGatewayProxyEvent;
    expect(event).toMatchObject({
      resource: '/v1/runs/{runId}',
      path: '/v1/runs/r%201',
      httpMethod: 'POST',
      headers: {
        host: new URL(url).host,
        'content-type': 'application/json',
        'X-Own': 'Zäh',
        'X-Forwarded-For': '127.0.0.1',
        'X-Forwarded-Proto': 'http',
        'X-Amzn-Trace-Id': expect.stringMatching(/^Root=1-[0-9a-f]{8}-[0-9a-f]{24}$/),
      },
      multiValueHeaders: { 'content-type': ['application/json'] },
      queryStringParameters: { x: '2', y: 'a b' },
      multiValueQueryStringParameters: { x: ['1', '2'], y: ['a b'] },
      pathParameters: { runId: 'r 1' },
      stageVariables: null,
      requestContext: {
        requestId: answer.headers.get('x-amzn-requestid'),
        apiId: 'abc',
        stage: 'dev',
        httpMethod: 'POST',
        path: '/dev/v1/runs/r%201',
        resourcePath: '/v1/runs/{runId}',
        protocol: 'HTTP/1.1',
        identity: { sourceIp: '127.0.0.1', userAgent: 'test', userArn: null },
        requestTime: expect.stringMatching(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/),
        requestTimeEpoch: expect.any(Number),
      },
      body: '{"a":"ä"}',
      isBase64Encoded: false,
    });
    expect(event.requestContext).not.toHaveProperty('authorizer');
    expect(Object.keys(event.headers).map((name) => name.toLowerCase())).not.toContain(
      'connection',
    );
  });

  it('without query, parameters or body has null for them', async () => {
    const url = await startFront([{ method: 'GET', path: '/v1/runs', invoke: echo }]);
    expect(await (await fetch(`${url}/v1/runs`)).json()).toMatchObject({
      queryStringParameters: null,
      multiValueQueryStringParameters: null,
      pathParameters: null,
      body: null,
      isBase64Encoded: false,
    });
  });

  it('with a binary body is base64 where the API says so, and text elsewhere', async () => {
    const url = await startFront([{ method: 'POST', path: '/blob', invoke: echo }], {
      binaryMediaTypes: ['application/octet-stream'],
    });
    const send = async (type: string) =>
      (
        await fetch(`${url}/blob`, {
          method: 'POST',
          headers: { 'content-type': type },
          body: new Uint8Array([255, 0, 1]),
        })
      ).json();
    expect(await send('application/octet-stream')).toMatchObject({
      body: '/wAB',
      isBase64Encoded: true,
    });
    expect(await send('text/plain')).toMatchObject({
      body: '\ufffd\0\u0001',
      isBase64Encoded: false,
    });
  });

  it('keeps names like __proto__ as names', async () => {
    const url = await startFront([{ method: 'GET', path: '/v1/runs', invoke: echo }]);
    const text = await (await fetch(`${url}/v1/runs?__proto__=x&constructor=y`)).text();
    expect(text).toContain('"queryStringParameters":{"__proto__":"x","constructor":"y"}');
  });
});

describe('what the front answers by itself', () => {
  it.each([
    ['GET', '/nowhere', 404, 'route_not_found'],
    ['DELETE', '/v1/runs/r1', 405, 'method_not_allowed'],
    ['GET', '/v1/runs/%ff', 400, 'invalid_request'],
    ['GET', '/v1/runs/r1?a=%zz', 400, 'invalid_request'],
  ])('%s %s is %i %s', async (method, path, status, code) => {
    const url = await startFront([{ method: 'GET', path: '/v1/runs/{runId}', invoke: echo }]);
    const answer = await fetch(`${url}${path}`, { method });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(await answer.json()).toMatchObject({
      status,
      code,
      title: expect.any(String),
      detail: expect.any(String),
      requestId: answer.headers.get('x-request-id'),
    });
    expect(answer.headers.get('allow')).toBe(status === 405 ? 'GET' : null);
  });

  it.each([
    ['with a known length', new Uint8Array(2_000)],
    ['of unknown length', new Blob([new Uint8Array(2_000)]).stream()],
  ])('a body over the limit %s is 413, and the connection goes on', async (_what, body) => {
    const url = await startFront([{ method: 'POST', path: '/v1/runs', invoke: echo }], {
      maxBodyBytes: 1_000,
    });
    const options = { method: 'POST', body, duplex: 'half' };
    expect((await fetch(`${url}/v1/runs`, options as RequestInit)).status).toBe(413);
    const fitting = { method: 'POST', body: 'x'.repeat(1_000) };
    expect((await fetch(`${url}/v1/runs`, fitting)).status).toBe(200);
  });

  it('an event that Lambda would not take is 413', async () => {
    const url = await startFront([{ method: 'POST', path: '/v1/runs', invoke: echo }]);
    const answer = await fetch(`${url}/v1/runs`, {
      method: 'POST',
      body: 'x'.repeat(7 * 1024 * 1024),
    });
    expect(answer.status).toBe(413);
  });

  it('a function that takes too long is 504', async () => {
    const url = await startFront(
      [{ method: 'GET', path: '/slow', invoke: functionOf(() => new Promise(() => {})) }],
      { timeoutMs: 20 },
    );
    const answer = await fetch(`${url}/slow`);
    expect(answer.status).toBe(504);
    expect(await answer.json()).toMatchObject({ status: 504, code: 'internal' });
  });

  it.each([
    ['throws', () => Promise.reject(new Error('secret detail'))],
    ['returns nothing', () => undefined],
    ['returns a text', () => 'ok'],
    ['returns no status', () => ({ body: 'x' })],
    ['returns a status that is none', () => ({ statusCode: 'fine' })],
    ['returns a body that is no text', () => ({ statusCode: 200, body: { a: 1 } })],
    ['returns a header that HTTP forbids', () => ({ statusCode: 200, headers: { a: 'x\ny' } })],
  ])('a function that %s is 502 and tells nothing', async (_what, handler) => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const url = await startFront([{ method: 'GET', path: '/broken', invoke: functionOf(handler) }]);
    const answer = await fetch(`${url}/broken`);
    expect(answer.status).toBe(502);
    expect(await answer.text()).not.toContain('secret');
  });

  it('headers above 10 KB are refused', async () => {
    const url = await startFront([{ method: 'GET', path: '/v1/runs', invoke: echo }]);
    const answer = await fetch(`${url}/v1/runs`, { headers: { big: 'x'.repeat(11_000) } });
    expect(answer.status).toBe(431);
  });

  it('a client that leaves in the middle of its body disturbs nobody', async () => {
    const url = await startFront([{ method: 'POST', path: '/v1/runs', invoke: echo }]);
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write('POST /v1/runs HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf');
    socket.resetAndDestroy();
    await once(socket, 'close');
    expect((await fetch(`${url}/v1/runs`, { method: 'POST', body: 'x' })).status).toBe(200);
  });
});

describe('an answer', () => {
  const answerWith = async (answer: object) => {
    const url = await startFront([{ method: 'GET', path: '/', invoke: functionOf(() => answer) }]);
    return await fetch(`${url}/`);
  };

  it('has the status, headers and body of the function', async () => {
    const answer = await answerWith({
      statusCode: 201,
      headers: { 'Content-Type': 'text/plain; charset=utf-8', 'x-number': 7 },
      multiValueHeaders: { 'set-cookie': ['a=1', 'b=2'] },
      body: 'grüezi',
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(answer.headers.get('x-number')).toBe('7');
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(await answer.text()).toBe('grüezi');
  });

  it('may be binary', async () => {
    const answer = await answerWith({ statusCode: 200, body: '/wAB', isBase64Encoded: true });
    expect([...new Uint8Array(await answer.arrayBuffer())]).toEqual([255, 0, 1]);
  });

  it('may have no body, and its length is never the one the function says', async () => {
    expect((await answerWith({ statusCode: 204, body: 'ignored' })).status).toBe(204);
    const answer = await answerWith({
      statusCode: 200,
      headers: { 'content-length': '1' },
      body: 'more',
    });
    expect(await answer.text()).toBe('more');
  });
});

it('a request that the extra handler takes never reaches a route', async () => {
  const url = await startFront([{ method: 'GET', path: '/{any+}', invoke: echo }], {
    extra: (request, response) => {
      if (request.url !== '/.well-known/jwks.json') return false;
      response.end('{"keys":[]}');
      return true;
    },
  });
  expect(await (await fetch(`${url}/.well-known/jwks.json`)).json()).toEqual({ keys: [] });
  expect(await (await fetch(`${url}/other`)).json()).toMatchObject({ path: '/other' });
});
