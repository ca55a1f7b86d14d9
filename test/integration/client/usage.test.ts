import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NexusDeskClient } from '#client/nexusdesk-client.ts';
import type { UsageReport, UsageTotals } from '#shared/contracts/index.ts';
import { runProcess } from './cli-process.ts';
import { json, problem, ScriptedApi } from './scripted-api.ts';

const USAGE = 'GET /v1/usage';

const totals = (fields: Partial<UsageTotals> = {}): UsageTotals => ({
  runs: { completed: 2, failed: 1 },
  attempts: 4,
  activeMs: 65_000,
  usage: { inputTokens: 1_200, outputTokens: 30 },
  unreported: { costUsd: 4 },
  ...fields,
});
const report = (fields: Partial<UsageReport> = {}): UsageReport => ({
  from: '2026-11-01',
  to: '2026-11-30',
  groupBy: 'day',
  rows: [{ day: '2026-11-29', ...totals() }],
  total: totals(),
  ...fields,
});

let api: ScriptedApi;
beforeEach(async () => {
  api = await ScriptedApi.start();
});
afterEach(() => api.close());

const cli = (...args: string[]) =>
  runProcess({
    cwd: tmpdir(),
    env: { NEXUSDESK_URL: api.url, NEXUSDESK_TOKEN: 'tok-1' },
    args: ['usage', ...args],
  });

describe('usage', () => {
  it('is read by the client, whatever a newer server adds to it', async () => {
    const newer = { ...report(), total: { ...totals(), unreported: { novelTokens: 1 } } };
    api.on(USAGE, json(newer));
    const client = new NexusDeskClient({ baseUrl: api.url, token: 'tok-1' });
    const query = { from: '2026-11-01', to: '2026-11-30', groupBy: 'agent', limit: 5 } as const;
    expect(await client.getUsage(query)).toEqual(report({ total: totals({ unreported: {} }) }));
    expect(api.seen(USAGE)[0]?.query).toEqual({ ...query, limit: '5' });
  });

  it('is shown by the command line, a line for each row and one for all', async () => {
    api.on(USAGE, json(report({ rows: [{ day: '2026-11-29', ...totals({ attempts: 1 }) }] })));
    expect(await cli('--from', '2026-11-01')).toMatchObject({
      code: 0,
      stderr: '',
      stdout:
        '2026-11-29  3 runs (2 completed, 1 failed) · 1 attempt · 1m 05s · 1,200 tokens in · 30 out\n' +
        'total       3 runs (2 completed, 1 failed) · 4 attempts · 1m 05s · 1,200 tokens in · 30 out\n',
    });
    expect(api.seen(USAGE)[0]?.query).toEqual({ from: '2026-11-01', groupBy: 'day' });
  });

  it('is put together from all pages, and names the runs without an agent', async () => {
    const none = { ...totals({ runs: {}, usage: {} }) };
    const page = report({ groupBy: 'agent', rows: [none], nextCursor: 'c2' });
    api.on(
      USAGE,
      json(page),
      json(report({ groupBy: 'agent', rows: [{ agentId: 'ann', ...none }] })),
    );
    const { stdout } = await cli('--by', 'agent');
    expect(stdout).toContain('(no agent)  0 runs · 4 attempts · 1m 05s\nann         0 runs');
    expect(api.seen(USAGE).map(({ query }) => query.cursor)).toEqual([undefined, 'c2']);

    api.on(
      USAGE,
      json(page),
      json(report({ groupBy: 'agent', rows: [{ agentId: 'ann', ...none }] })),
    );
    const printed = JSON.parse((await cli('--by', 'agent', '--json')).stdout) as UsageReport;
    expect(printed.rows.map(({ agentId }) => agentId)).toEqual([undefined, 'ann']);
    expect(printed).not.toHaveProperty('nextCursor');
  });

  it('says so when there is none', async () => {
    api.on(USAGE, json(report({ rows: [] })));
    expect((await cli()).stdout).toBe('nothing was used from 2026-11-01 to 2026-11-30\n');
  });

  it.each([
    [['--from', 'yesterday'], '--from'],
    [['--to', '2026-02-30'], '--to'],
    [['--by', 'team'], '--by'],
  ])('refuses %s before it asks', async (args, field) => {
    const end = await cli(...args);
    expect(end.code).toBe(64);
    expect(end.stderr).toContain(`field   ${field}`);
    expect(api.requests).toEqual([]);
  });

  it('passes on what the API refuses', async () => {
    api.on(USAGE, problem(400, 'invalid_request', { field: 'query.from' }));
    expect((await cli()).code).toBe(64);
  });
});
