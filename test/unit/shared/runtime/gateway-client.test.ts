import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  AuthorityLost,
  GatewayClient,
  GatewayRefused,
  GatewayUnreachable,
} from '#shared/runtime/gateway-client.ts';

const HEARTBEAT = { leaseExpiresAt: '2026-11-30T12:00:00.000Z', directives: [] };
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A real gateway that answers each request by the next entry; the last one repeats. */
async function gateway(...answers: ((response: ServerResponse) => void)[]) {
  let calls = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      answers[Math.min(calls, answers.length - 1)]?.(response);
      calls += 1;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, calls: () => calls };
}

const status =
  (code: number, body: unknown = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const cut = (response: ServerResponse) => void response.socket?.destroy();

/** Time that passes only by looking at it, so that "too long" needs no waiting. */
function steppingClock(stepMs: number) {
  let now = 0;
  return {
    now: () => {
      now += stepMs;
      return now;
    },
  };
}

describe('gateway client', () => {
  it('B50 goes on after faults that pass: 503, 429, a cut connection, a broken body', async () => {
    const server = await gateway(
      status(503),
      status(429),
      cut,
      status(200, 'what'),
      status(200, HEARTBEAT),
    );
    const client = new GatewayClient({
      baseUrl: server.url,
      clock: steppingClock(1),
      retryForMs: 60_000,
    });
    expect(await client.heartbeat('token', 'run_1', { state: 'running' })).toEqual(HEARTBEAT);
    expect(server.calls()).toBe(5);
  });

  it.each([401, 403, 404, 409, 410])(
    'B50 takes %i as the end of its authority, at once',
    async (code) => {
      const server = await gateway(status(code, { code: 'authority_lost' }));
      const client = new GatewayClient({
        baseUrl: server.url,
        clock: steppingClock(1),
        retryForMs: 60_000,
      });
      await expect(client.heartbeat('token', 'run_1', { state: 'running' })).rejects.toBeInstanceOf(
        AuthorityLost,
      );
      expect(server.calls()).toBe(1);
    },
  );

  it('goes on for a while after a 404 of a stranger: another program may have the port for a moment', async () => {
    const server = await gateway(status(404), status(403), status(200, HEARTBEAT));
    const client = new GatewayClient({
      baseUrl: server.url,
      clock: steppingClock(1),
      retryForMs: 60_000,
    });
    expect(await client.heartbeat('token', 'run_1', { state: 'running' })).toEqual(HEARTBEAT);
  });

  it('B50 does not take a stranger for the gateway for ever', async () => {
    const server = await gateway(status(404));
    const client = new GatewayClient({
      baseUrl: server.url,
      clock: steppingClock(10_000),
      retryForMs: Number.POSITIVE_INFINITY,
    });
    await expect(client.heartbeat('token', 'run_1', { state: 'running' })).rejects.toBeInstanceOf(
      AuthorityLost,
    );
  });

  it('waits for a route that is missing: a deployment is under way', async () => {
    const server = await gateway(status(404, { code: 'route_not_found' }), status(200, HEARTBEAT));
    const client = new GatewayClient({
      baseUrl: server.url,
      clock: steppingClock(1),
      retryForMs: 60_000,
    });
    expect(await client.heartbeat('token', 'run_1', { state: 'running' })).toEqual(HEARTBEAT);
  });

  it.each([400, 413, 422])(
    'B109 takes %i as a refusal of this content, not of its authority',
    async (code) => {
      const server = await gateway(status(code, { code: 'invalid_request' }));
      const client = new GatewayClient({
        baseUrl: server.url,
        clock: steppingClock(1),
        retryForMs: 60_000,
      });
      const refusal = await client
        .heartbeat('token', 'run_1', { state: 'running' })
        .catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(GatewayRefused);
      expect(refusal).toMatchObject({ status: code, code: 'invalid_request' });
      expect(server.calls()).toBe(1);
    },
  );

  it('keeps the path of the gateway itself, as an API stage has one', async () => {
    const paths: string[] = [];
    const server = await gateway((response) => {
      paths.push(response.req.url ?? '');
      status(200, HEARTBEAT)(response);
    });
    for (const baseUrl of [`${server.url}/live`, `${server.url}/live/`]) {
      const client = new GatewayClient({ baseUrl, clock: steppingClock(1), retryForMs: 60_000 });
      await client.heartbeat('token', 'run_1', { state: 'running' });
    }
    expect(paths).toEqual(Array(2).fill('/live/host/v1/runs/run_1/heartbeat'));
  });

  it('gives up when the gateway fails for too long', async () => {
    const server = await gateway(status(500));
    const client = new GatewayClient({
      baseUrl: server.url,
      clock: steppingClock(600),
      retryForMs: 1_000,
    });
    await expect(client.heartbeat('token', 'run_1', { state: 'running' })).rejects.toBeInstanceOf(
      GatewayUnreachable,
    );
  });

  it('stops trying when its caller no longer wants an answer', async () => {
    const stop = new AbortController();
    const server = await gateway((response) => {
      status(503)(response);
      stop.abort(new Error('enough'));
    });
    const client = new GatewayClient({
      baseUrl: server.url,
      clock: steppingClock(1),
      retryForMs: 60_000,
    });
    await expect(
      client.heartbeat('token', 'run_1', { state: 'running' }, { signal: stop.signal }),
    ).rejects.toThrow('enough');
  });
});
