import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiError, ConnectionError, ReplyError } from '#client/client-error.ts';
import { type ClientOptions, NexusDeskClient } from '#client/nexusdesk-client.ts';
import type { CreateRunRequest } from '#shared/contracts/index.ts';
import { ManualClock } from '#test/unit/client/support/manual-clock.ts';
import {
  engineView,
  handle,
  message,
  RUN_ID,
  runSummary,
  runView,
} from '#test/unit/client/support/run-samples.ts';
import { type Act, json, problem, reset, ScriptedApi } from './scripted-api.ts';

const CREATE = 'POST /v1/runs';
const LIST = 'GET /v1/runs';
const GET = `GET /v1/runs/${RUN_ID}`;
const CANCEL = `POST /v1/runs/${RUN_ID}/cancel`;
const body: CreateRunRequest = { engine: { id: 'acme' }, input: { prompt: 'grüße 👍' } };

describe('NexusDeskClient', () => {
  let api: ScriptedApi;
  let clock: ManualClock;

  beforeEach(async () => {
    api = await ScriptedApi.start();
    clock = new ManualClock();
  });
  afterEach(() => api.close());

  const client = (options: Partial<ClientOptions> = {}) =>
    new NexusDeskClient({ baseUrl: api.url, token: 'tok-1', clock, random: () => 0, ...options });

  describe('createRun', () => {
    it('sends the body, the token and a key of its own, and returns the handle', async () => {
      api.on(CREATE, json(handle, 202));
      expect(await client().createRun(body)).toEqual(handle);
      const [request] = api.requests;
      expect(request?.body).toEqual(body);
      expect(request?.headers).toMatchObject({
        authorization: 'Bearer tok-1',
        'content-type': 'application/json',
        'idempotency-key': expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
    });

    it('repeats under the same key after a cut connection, a 5xx and a proxy without an explanation', async () => {
      const badGateway: Act = (response) => void response.writeHead(502).end('<html>');
      api.on(CREATE, reset, problem(500, 'internal'), badGateway, json(handle, 202));
      expect(await client().createRun(body)).toEqual(handle);
      const keys = new Set(api.seen(CREATE).map(({ headers }) => headers['idempotency-key']));
      expect(api.seen(CREATE)).toHaveLength(4);
      expect(keys.size).toBe(1);
    });

    it("uses the caller's key, and another one for each call without", async () => {
      api.on(CREATE, json(handle, 202));
      await client().createRun(body, { idempotencyKey: 'mine' });
      await client().createRun(body);
      await client().createRun(body);
      const keys = api.seen(CREATE).map(({ headers }) => headers['idempotency-key']);
      expect(keys[0]).toBe('mine');
      expect(new Set(keys).size).toBe(3);
    });

    it('gives up after four sends', async () => {
      api.on(CREATE, problem(503, 'throttled'));
      await expect(client().createRun(body)).rejects.toMatchObject({ status: 503 });
      expect(api.requests).toHaveLength(4);
    });

    it('says with which fields the API refused, and does not repeat', async () => {
      const remedy = 'use one of: acme';
      const fields = { field: 'engine.id', remedy, requestId: 'req-1', details: { available: [] } };
      api.on(CREATE, problem(422, 'unknown_engine', fields));
      const error = await client()
        .createRun(body)
        .catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(ApiError);
      expect(error).toMatchObject({ ...fields, status: 422, code: 'unknown_engine' });
      expect((error as Error).message).toBe('scripted unknown_engine');
      expect(api.requests).toHaveLength(1);
    });

    it('does not repeat what stays wrong although its status is a 5xx', async () => {
      api.on(CREATE, problem(503, 'engine_not_installed'));
      await expect(client().createRun(body)).rejects.toMatchObject({
        code: 'engine_not_installed',
      });
      expect(api.requests).toHaveLength(1);
    });

    it('waits as Retry-After says, but not for longer than a minute', async () => {
      api.on(CREATE, problem(429, 'quota_exceeded', {}, { 'retry-after': '9' }), json(handle, 202));
      const created = client().createRun(body);
      await clock.timerOf(9_000);
      expect(api.requests).toHaveLength(1);
      clock.advance(9_000);
      expect(await created).toEqual(handle);

      const later = new Date(clock.now() + 3_600_000).toUTCString();
      api.on(CREATE, problem(429, 'quota_exceeded', {}, { 'retry-after': later }));
      const refused = client().createRun(body);
      await expect(refused).rejects.toMatchObject({
        code: 'quota_exceeded',
        retryAfterMs: 3_600_000,
      });
    });

    it('asks for a new token once when the first is refused', async () => {
      const tokens = ['old', 'new'];
      api.on(CREATE, problem(401, 'unauthenticated'), json(handle, 202));
      await client({ token: async () => tokens.shift() ?? '' }).createRun(body);
      expect(api.seen(CREATE).map(({ headers }) => headers.authorization)).toEqual([
        'Bearer old',
        'Bearer new',
      ]);
      api.on(CREATE, problem(401, 'unauthenticated'));
      const always = client({ token: async () => crypto.randomUUID() });
      await expect(always.createRun(body)).rejects.toMatchObject({ status: 401 });
      expect(api.seen(CREATE)).toHaveLength(4);
    });

    it('stops when its signal is aborted, while it waits for the reply', async () => {
      api.on(CREATE, () => undefined);
      const stop = new AbortController();
      const created = client().createRun(body, { signal: stop.signal });
      await api.arrival(CREATE);
      stop.abort(new Error('enough'));
      await expect(created).rejects.toThrow('enough');
    });

    it('counts a reply that takes longer than 30 s as none', async () => {
      api.on(CREATE, () => undefined, json(handle, 202));
      const created = client().createRun(body);
      await api.arrival(CREATE);
      clock.advance(30_000);
      expect(await created).toEqual(handle);
    });

    it('says which reply broke the contract, and where', async () => {
      api.on(CREATE, json({ ...handle, acceptedAt: 'yesterday' }, 202));
      await expect(client().createRun(body)).rejects.toThrow(
        /^the reply to POST \/v1\/runs \(HTTP 202\) does not follow the contract at acceptedAt/,
      );
      api.on(CREATE, (response) => void response.end('<html>'));
      await expect(client().createRun(body)).rejects.toThrow(ReplyError);
    });
  });

  it('says that nobody answers, and where', async () => {
    const { url } = api;
    await api.close();
    const refused = expect(client({ baseUrl: url }).getRun(RUN_ID)).rejects;
    await refused.toThrow(ConnectionError);
    await expect(client({ baseUrl: url }).getRun(RUN_ID)).rejects.toThrow(/ECONNREFUSED/);
    api = await ScriptedApi.start();
  });

  it('reads runs of a newer server, below a stage path', async () => {
    api.on(`GET /dev/v1/runs/${RUN_ID}`, json({ ...runView(), mood: 'sunny' }));
    expect(await client({ baseUrl: `${api.url}/dev/` }).getRun(RUN_ID)).toEqual(runView());
  });

  it('never follows a redirection, so that the token stays where it belongs', async () => {
    const other = await ScriptedApi.start();
    api.on(GET, (response) => void response.writeHead(302, { location: `${other.url}/x` }).end());
    await expect(client().getRun(RUN_ID)).rejects.toThrow(ConnectionError);
    expect(other.requests).toEqual([]);
    await other.close();
  });

  it('lists runs page by page, only as far as they are read', async () => {
    const runs = [1, 2, 3].map((attempt) => runSummary({ attempt }));
    api.on(LIST, json({ runs: runs.slice(0, 2), nextCursor: 'n2' }), json({ runs: runs.slice(2) }));
    const all = [];
    for await (const run of client().listRuns({ status: 'failed', limit: 2 })) all.push(run);
    expect(all).toEqual(runs);
    expect(api.seen(LIST).map(({ query }) => query)).toEqual([
      { status: 'failed', limit: '2' },
      { status: 'failed', limit: '2', cursor: 'n2' },
    ]);

    api.on(LIST, json({ runs, nextCursor: 'more' }));
    for await (const run of client().listRuns()) {
      expect(run).toEqual(runs[0]);
      break;
    }
    expect(api.seen(LIST)).toHaveLength(3);
  });

  it('does not read a list that goes in circles', async () => {
    api.on(LIST, json({ runs: [], nextCursor: 'same' }));
    await expect(client().listRuns({ cursor: 'same' }).next()).rejects.toThrow(ReplyError);
  });

  it('cancels with a reason, and says what the run was then', async () => {
    api.on(CANCEL, reset, json({ runId: RUN_ID, status: 'cancelling', epoch: 2 }, 202));
    const receipt = await client().cancelRun(RUN_ID, { reason: 'no need' });
    expect(receipt).toEqual({ runId: RUN_ID, status: 'cancelling' });
    expect(api.requests[1]?.body).toEqual({ reason: 'no need' });
    api.on(CANCEL, problem(409, 'already_terminal'));
    await expect(client().cancelRun(RUN_ID)).rejects.toMatchObject({ code: 'already_terminal' });
  });

  it('reads pages of events', async () => {
    const page = { events: [message(1, 'a')], nextCursor: 'n1', complete: false };
    api.on(`GET /v1/runs/${RUN_ID}/events`, json(page));
    expect(await client().listEvents(RUN_ID, { cursor: 'n0', limit: 5 })).toEqual(page);
    expect(api.requests[0]?.query).toEqual({ cursor: 'n0', limit: '5' });
  });

  it('B115 waits for a run by asking until it has ended, at growing intervals', async () => {
    const ended = runView({ status: 'timed_out' });
    api.on(GET, json(runView({ status: 'queued' })), json(runView()), json(runView()), json(ended));
    const waiting = client().waitForRun(RUN_ID);
    for (const pauseMs of [250, 500, 1_000]) {
      await clock.timerOf(pauseMs);
      clock.advance(pauseMs);
    }
    expect(await waiting).toEqual(ended);
  });

  it('lists engines', async () => {
    api.on('GET /v1/engines', json({ engines: [engineView()] }));
    expect(await client().listEngines()).toEqual({ engines: [engineView()] });
  });

  it('asks for health without a token, and reads a degraded answer too', async () => {
    const health = { status: 'ok', version: '1.2.3', checks: [] };
    const date = 'Mon, 30 Nov 2026 12:00:09 GMT';
    api.on('GET /v1/health', json(health, 200, { date }));
    expect(await client().getHealth()).toEqual(health);
    expect(await client().probeHealth()).toMatchObject({ serverTimeMs: Date.parse(date) });
    expect(api.requests[0]?.headers.authorization).toBeUndefined();

    const degraded = { ...health, status: 'degraded', checks: [{ name: 'ledger', ok: false }] };
    api.on('GET /v1/health', json(degraded, 503));
    expect(await client().getHealth()).toEqual(degraded);
    api.on('GET /v1/health', problem(503, 'throttled'));
    await expect(client().getHealth()).rejects.toThrow(ApiError);
  });

  it.each(['', 'localhost:80', 'ftp://x', 'file:///etc', 'http://x?y=1'])(
    'refuses the address %j at once',
    (baseUrl) => {
      expect(() => client({ baseUrl })).toThrow(TypeError);
    },
  );
});
