import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type UsageReport, usageReportSchema } from '#shared/contracts/index.ts';
import { openDynamoUsageStore } from '#shared/usage/dynamo-usage-store.ts';
import { openEmbeddedTable } from '#test/support/embedded-table.ts';
import { getUsageHandler } from '../../../functions/api/get-usage/handler.ts';

let embedded: Awaited<ReturnType<typeof openEmbeddedTable>>;
let call: ReturnType<typeof getUsageHandler>;

beforeAll(async () => {
  embedded = await openEmbeddedTable();
  const usage = openDynamoUsageStore(embedded.table);
  call = getUsageHandler({
    usage,
    clock: { now: () => Date.parse('2026-11-30T12:00:00.000Z') },
    log: { info() {}, warn() {}, error() {} },
  });
  await usage.fold(
    ['acme', 'acme', 'rival'].map((tenantId, n) => ({
      tenantId,
      runId: `run_${String(n).padStart(26, '0')}`,
      page: 3,
      endedAt: '2026-11-29T12:00:00.000Z',
      agentId: n === 0 ? 'ann' : undefined,
      attempt: { usage: { inputTokens: 100 * (n + 1) }, activeMs: 1_000 },
      outcome: 'completed' as const,
    })),
  );
});
afterAll(() => embedded.close());

async function get(query: Record<string, string>, authorizer: object = { tenantId: 'acme' }) {
  const requestContext = {
    requestId: 'req-1',
    authorizer: { subject: 'me', expiresAtMs: '9999999999999', ...authorizer },
  };
  const event = { queryStringParameters: query, headers: {}, requestContext };
  const reply = await call(event as unknown as APIGatewayProxyEvent, {} as Context);
  return { status: reply.statusCode, body: JSON.parse(reply.body) as Record<string, unknown> };
}

describe('GET /v1/usage', () => {
  it("TRM-5 tells the tenant's own usage of the last 30 days", async () => {
    const { status, body } = await get({});
    expect(status).toBe(200);
    expect(usageReportSchema.parse(body)).toEqual<UsageReport>({
      from: '2026-11-01',
      to: '2026-11-30',
      groupBy: 'day',
      rows: [expect.objectContaining({ day: '2026-11-29', runs: { completed: 2 }, attempts: 2 })],
      total: expect.objectContaining({ usage: { inputTokens: 300 }, activeMs: 2_000 }),
    });
  });

  it('tells it by agent', async () => {
    const { body } = await get({ groupBy: 'agent', from: '2026-11-29', to: '2026-11-29' });
    expect((body as UsageReport).rows).toMatchObject([
      { usage: { inputTokens: 200 } },
      { agentId: 'ann', usage: { inputTokens: 100 } },
    ]);
  });

  it.each([
    [{ from: '29.11.2026' }, 'query.from'],
    [{ to: '2026-02-30' }, 'query.to'],
    [{ groupBy: 'team' }, 'query.groupBy'],
    [{ limit: '1e2' }, 'query.limit'],
    [{ limit: '401' }, 'query.limit'],
    [{ tenantId: 'rival' }, 'query.tenantId'],
    [{ from: '2026-11-30', to: '2026-11-01' }, 'query.from'],
  ])('refuses %o and names the field', async (query, field) => {
    expect(await get(query as Record<string, string>)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', field, remedy: expect.any(String) },
    });
  });

  it('needs a token', async () => {
    expect(await get({}, { tenantId: undefined })).toMatchObject({ status: 401 });
  });
});
