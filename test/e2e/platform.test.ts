import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  newDataDir,
  removeDataDir,
  runToEnd,
  type StackProcess,
  startStackProcess,
} from '#test/support/stack-process.ts';

let stack: StackProcess;
beforeAll(async () => {
  stack = await startStackProcess(newDataDir());
});
afterAll(async () => {
  await stack.stop();
  removeDataDir(stack.dataDir);
});

const localTest = { id: 'local_test' };

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${stack.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${stack.token}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

async function get(path: string, token = stack.token) {
  const response = await fetch(`${stack.url}${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: response.status, text: await response.text() };
}

describe('an event too large for the log', () => {
  it('is a preview with a pointer; its tenant, and nobody else, gets the whole payload', async () => {
    const text = 'n'.repeat(220 * 1024);
    const { run, events } = await runToEnd(stack, {
      engine: localTest,
      input: { prompt: 'scripted' },
      config: { script: [{ say: text, deltas: 1 }, { complete: 'done' }] },
    });
    expect(run.status).toBe('completed');
    const delta = events.find(({ eventType }) => eventType === 'message.delta');
    expect(JSON.stringify(delta).length).toBeLessThan(2_000);
    const path = `/v1/runs/${run.runId}/blobs/${delta?.blob?.sha256}`;
    const whole = await get(path);
    expect(whole.status).toBe(200);
    expect(JSON.parse(whole.text)).toMatchObject({ text });
    expect((await get(path, await stack.tokenFor('another'))).status).toBe(404);
    const none = await get(`/v1/runs/${run.runId}/blobs/${'0'.repeat(64)}`);
    expect([none.status, JSON.parse(none.text).code]).toEqual([404, 'blob_not_found']);
    expect((await get(`/v1/runs/${run.runId}/blobs/..%2F..%2Fx`)).status).toBe(404);
  });
});

describe('a run', () => {
  it('goes from the API to its final state with gapless events, and a replay equals the live stream', async () => {
    const { run, events } = await runToEnd(stack, {
      engine: localTest,
      input: { prompt: 'hello' },
    });
    expect(run).toMatchObject({
      status: 'completed',
      attempt: 1,
      attempts: [{ outcome: 'completed' }],
    });
    expect(run.capabilities?.refusals.every(({ rule, reason }) => rule && reason)).toBe(true);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    expect(events[0]?.eventType).toBe('run.queued');
    expect(events.filter(({ eventType }) => eventType.startsWith('run.')).at(-1)).toBe(
      events.at(-1),
    );
    expect(events.at(-1)?.eventType).toBe('run.completed');

    const replay = [];
    for await (const event of stack.client.streamEvents(run.runId)) replay.push(event);
    expect(replay).toEqual(events);
    const page = await stack.client.listEvents(run.runId, { limit: 1_000 });
    expect(page).toMatchObject({ events, complete: true });
  });

  it('TRM-7 resumes behind any event of its stream', async () => {
    const { run, events } = await runToEnd(stack, {
      engine: localTest,
      input: { prompt: 'resume' },
    });
    const whole = (await get(`/v1/runs/${run.runId}/stream`)).text;
    const ids = [...whole.matchAll(/^id: (.+)$/gm)].map(([, id]) => id ?? '');
    expect(ids).toHaveLength(events.length);
    for (const [index, id] of ids.entries()) {
      const rest = (await get(`/v1/runs/${run.runId}/stream?cursor=${id}`)).text;
      expect([...rest.matchAll(/^id: (.+)$/gm)].map(([, next]) => next)).toEqual(
        ids.slice(index + 1),
      );
    }
  });

  it('ORC-1 is made once for one Idempotency-Key', async () => {
    const body = { engine: localTest, input: { prompt: 'once' } };
    const key = { 'idempotency-key': 'e2e-once' };
    const [first, second] = [await post('/v1/runs', body, key), await post('/v1/runs', body, key)];
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body.executionId).toBe(first.body.executionId);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    const other = await post('/v1/runs', { ...body, input: { prompt: 'twice' } }, key);
    expect(other).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict', field: 'Idempotency-Key' },
    });
  });

  it('shows a deadline as timed_out, with nothing of it left', async () => {
    const { run, events } = await runToEnd(stack, {
      engine: localTest,
      input: { prompt: 'wait' },
      config: { script: [{ say: 'waiting' }, { wait: 'forever' }] },
      timeoutMs: 6_000,
    });
    expect(run).toMatchObject({
      status: 'timed_out',
      error: { class: 'Timeout', sideEffects: 'maybe' },
    });
    expect(events.at(-1)?.eventType).toBe('run.timed_out');
  });
});

describe('bad input gets an error that names the field and the remedy', () => {
  const valid = { engine: localTest, input: { prompt: 'x' } };
  it.each([
    ['malformed JSON', '{"engine":', 400, 'invalid_json', undefined],
    ['B155 an unknown field', { ...valid, tenantId: 'evil' }, 400, 'invalid_request', 'tenantId'],
    [
      'B160 a NUL in the prompt',
      { ...valid, input: { prompt: 'a\0b' } },
      400,
      'invalid_request',
      'input.prompt',
    ],
    [
      'half a character',
      '{"engine":{"id":"local_test"},"input":{"prompt":"\\ud800"}}',
      400,
      'invalid_request',
      'input.prompt',
    ],
    [
      'B167 a prompt over its limit in UTF-8 bytes',
      { ...valid, input: { prompt: '☕'.repeat(70_000) } },
      413,
      'payload_too_large',
      'input.prompt',
    ],
    [
      'B157 a number in other clothes',
      { ...valid, timeoutMs: '1e4' },
      400,
      'invalid_request',
      'timeoutMs',
    ],
    [
      'an engine that does not exist',
      { ...valid, engine: { id: 'nobody' } },
      422,
      'unknown_engine',
      'engine',
    ],
    [
      'a version that does not exist',
      { ...valid, engine: { ...localTest, adapterVersion: 'v9' } },
      422,
      'unknown_engine',
      'engine',
    ],
    [
      'an engine section that does not fit',
      { ...valid, config: { scrpt: [] } },
      422,
      'engine_config_invalid',
      undefined,
    ],
  ])('%s', async (_name, body, status, code, field) => {
    const answer = await post('/v1/runs', body);
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code });
    if (field) expect(answer.body.field).toBe(field);
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
  });

  it.each([
    ['a run that does not exist', '/v1/runs/run_00000000000000000000000000', 404, 'run_not_found'],
    ['an id that cannot exist', '/v1/runs/..%2f..%2fHEAD', 404, 'run_not_found'],
    ['a cursor that was made up', '/v1/runs?cursor=abc', 400, 'invalid_cursor'],
    ['a limit that is no number', '/v1/runs?limit=0x10', 400, 'invalid_request'],
    ['a path that does not exist', '/v1/nothing', 404, 'route_not_found'],
  ])('%s', async (_name, path, status, code) => {
    const answer = await get(path);
    expect({
      status: answer.status,
      code: (JSON.parse(answer.text) as { code: string }).code,
    }).toEqual({ status, code });
  });
});

describe('SEC-4 tenants are apart', () => {
  it('answers 404 for a run of another tenant, everywhere', async () => {
    const { run } = await runToEnd(stack, { engine: localTest, input: { prompt: 'mine' } });
    const stranger = await stack.tokenFor('stranger');
    for (const path of ['', '/events', '/stream']) {
      expect((await get(`/v1/runs/${run.runId}${path}`, stranger)).status).toBe(404);
    }
    const cancel = await post(
      `/v1/runs/${run.runId}/cancel`,
      {},
      { authorization: `Bearer ${stranger}` },
    );
    expect(cancel.status).toBe(404);
    expect(JSON.parse((await get('/v1/runs', stranger)).text)).toEqual({ runs: [] });
  });

  it('refuses no token, an expired one, one without a signature, and one of its own making', async () => {
    const [, claims] = stack.token.split('.');
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`;
    const forged = `${stack.token.slice(0, -6)}AAAAAA`;
    for (const token of ['', 'nonsense', none, forged, await stack.tokenFor('dev', -60_000)]) {
      expect((await get('/v1/runs', token)).status).toBe(401);
    }
  });

  it('opens the host gateway to nobody without a ticket', async () => {
    const claim = { hostInstanceId: 'aaaaaaaa', hostVersion: '1', sandbox: 'none' };
    expect((await post('/host/v1/claim', claim)).status).toBe(401);
    expect(
      (await post('/host/v1/runs/run_00000000000000000000000000/heartbeat', { state: 'x' })).status,
    ).toBe(401);
  });
});
