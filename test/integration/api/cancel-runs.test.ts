import { afterEach, describe, expect, it } from 'vitest';
import type { RunHead, RunLedger } from '#shared/runs/index.ts';
import { type ApiBench, openApiBench } from '#test/support/api-bench.ts';
import { startLiveRun } from '#test/support/live-run.ts';
import { at, completedResult } from '#test/support/run-builders.ts';

let bench: ApiBench;
afterEach(() => bench.close());

async function post(body: unknown, tenantId = 'acme') {
  const response = await fetch(`${bench.url}/v1/runs/cancel`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await bench.tokenFor(tenantId)}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const queued = async (count: number, fields: Partial<RunHead> = {}) => {
  const heads: RunHead[] = [];
  for (let nth = 0; nth < count; nth += 1) heads.push(await bench.accept(fields));
  return heads;
};
const statusOf = async (head: RunHead) => (await bench.ledger.readHead(head))?.status;
const idsOf = (runs: readonly { runId: string }[]) => runs.map(({ runId }) => runId).sort();

/** The ledger, but for what stands between. */
const between = (ledger: RunLedger, own: Partial<RunLedger>): RunLedger => ({ ...ledger, ...own });

describe('POST /v1/runs/cancel', () => {
  it('cancels every live run of the tenant, whatever it is doing, and says of each what happened', async () => {
    bench = await openApiBench();
    const [waiting] = await queued(1);
    const running = await startLiveRun(bench);
    const stopping = await startLiveRun(bench);
    const client = await bench.apiClient();
    await client.cancelRun(stopping.head.runId);
    const over = await startLiveRun(bench);
    await over.end();
    const foreign = await bench.accept({ tenantId: 'globex' });

    const { status, body } = await post({ all: true, reason: 'maintenance' });
    expect(status).toBe(200);
    expect(body.nextCursor).toBeUndefined();
    expect(body.runs).toHaveLength(3);
    expect(body.runs).toEqual(
      expect.arrayContaining([
        { runId: waiting?.runId, outcome: 'cancelled', status: 'cancelled' },
        { runId: running.head.runId, outcome: 'cancelling', status: 'cancelling' },
        { runId: stopping.head.runId, outcome: 'already_cancelling', status: 'cancelling' },
      ]),
    );
    expect(await statusOf(foreign)).toBe('queued');
    expect(await statusOf(over.head)).toBe('completed');
    const { events } = await client.listEvents(running.head.runId);
    expect(events.at(-1)).toMatchObject({
      eventType: 'run.cancel_requested',
      payload: { reason: 'maintenance', requestedBy: 'tester' },
    });
  });

  it('takes so many at a time, and can be repeated until nothing is left', async () => {
    bench = await openApiBench();
    const heads = await queued(11);
    const client = await bench.apiClient();
    const seen: string[] = [];
    let cursor: string | undefined;
    let requests = 0;
    do {
      const reply = await client.cancelRuns({ all: true, limit: 4, ...(cursor ? { cursor } : {}) });
      expect(reply.runs.length).toBeLessThanOrEqual(4);
      seen.push(...idsOf(reply.runs));
      cursor = reply.nextCursor;
      requests += 1;
    } while (cursor !== undefined);
    expect(seen.sort()).toEqual(idsOf(heads));
    expect(requests).toBeGreaterThanOrEqual(3);
    expect(await client.cancelRuns({ all: true })).toEqual({ runs: [] });
  });

  it('of one agent leaves the others alone', async () => {
    bench = await openApiBench();
    const ours = await queued(5, { agentId: 'reviewer' });
    const others = await queued(5, { agentId: 'writer' });
    const client = await bench.apiClient();
    const summary = await client.cancelAllRuns({ agentId: 'reviewer' });
    expect(summary.complete).toBe(true);
    expect(idsOf(summary.runs)).toEqual(idsOf(ours));
    expect(await Promise.all(others.map(statusOf))).toEqual(Array(5).fill('queued'));
  });

  it('reaches runs that begin, and runs that move, while it goes through them', async () => {
    const late: RunHead[] = [];
    bench = await openApiBench({
      ledgerFor: (ledger) =>
        between(ledger, {
          async liveRuns(tenantId, options) {
            const page = await ledger.liveRuns(tenantId, options);
            // After the first look at the last page another one begins.
            if (!page.nextCursor && late.length < 2) late.push(...(await queued(1)));
            return page;
          },
        }),
    });
    const heads = await queued(6);
    const told: string[] = [];
    const client = await bench.apiClient();
    const summary = await client.cancelAllRuns(
      { all: true },
      { onRun: ({ runId }) => told.push(runId) },
    );
    expect(summary.complete).toBe(true);
    expect(late).toHaveLength(2);
    expect(idsOf(summary.runs)).toEqual(idsOf([...heads, ...late]));
    expect(told.sort()).toEqual(idsOf(summary.runs));
    const left = await client.listRunsPage({ status: ['queued', 'starting', 'running'] });
    expect(left.runs).toEqual([]);
  });

  it('one run that cannot be cancelled keeps no other from it; the next pass takes it', async () => {
    let broken: string | undefined;
    let isBroken = true;
    bench = await openApiBench({
      ledgerFor: (ledger) =>
        between(ledger, {
          async finishRun(input) {
            if (isBroken && input.head.runId === broken) throw new Error('the table is busy');
            return ledger.finishRun(input);
          },
        }),
    });
    const heads = await queued(4);
    broken = heads[1]?.runId;
    const { body } = await post({ all: true });
    const outcomes = body.runs as { runId: string; outcome: string; error?: { code: string } }[];
    expect(outcomes.filter(({ outcome }) => outcome === 'cancelled')).toHaveLength(3);
    expect(outcomes.find(({ runId }) => runId === broken)).toMatchObject({
      outcome: 'failed',
      // What went wrong inside is not told.
      error: { code: 'internal', message: 'an unexpected error occurred' },
    });
    isBroken = false;
    const summary = await (await bench.apiClient()).cancelAllRuns({ all: true });
    expect(summary).toEqual({
      complete: true,
      runs: [{ runId: broken, outcome: 'cancelled', status: 'cancelled' }],
    });
  });

  it('B110 tells the truth about a run that ends by itself meanwhile', async () => {
    const finishing = Promise.withResolvers<() => Promise<unknown>>();
    bench = await openApiBench({
      ledgerFor: (ledger) =>
        between(ledger, {
          async liveRuns(tenantId, options) {
            const page = await ledger.liveRuns(tenantId, options);
            await (await finishing.promise)();
            return page;
          },
        }),
    });
    const run = await startLiveRun(bench);
    finishing.resolve(() => run.end(completedResult()));
    expect((await post({ all: true })).body).toEqual({
      runs: [{ runId: run.head.runId, outcome: 'already_ended', status: 'completed' }],
    });
  });

  it.each([
    ['nothing: an empty body stops no tenant', {}, 'all', /either "all": true or an "agentId"/],
    ['both', { all: true, agentId: 'a' }, 'all', /either/],
    ['all as false', { all: false }, 'all', /true/],
    ['a field that is unknown', { all: true, force: true }, 'force', /./],
    ['too many at once', { all: true, limit: 101 }, 'limit', /100/],
    ['an agent that cannot exist', { agentId: '#' }, 'agentId', /./],
    ['a tenant', { all: true, tenantId: 'globex' }, 'tenantId', /./],
  ])('is refused when it says %s', async (_what, body, field, detail) => {
    bench = await openApiBench();
    const [head] = await queued(1);
    expect(await post(body)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', field, detail: expect.stringMatching(detail) },
    });
    expect(await statusOf(head as RunHead)).toBe('queued');
  });

  it('SEC-4 refuses a cursor of another tenant', async () => {
    bench = await openApiBench();
    await queued(2);
    const first = await post({ all: true, limit: 1 });
    expect(first.body.nextCursor).toEqual(expect.any(String));
    expect(await post({ all: true, cursor: first.body.nextCursor }, 'globex')).toMatchObject({
      status: 400,
      body: { code: 'invalid_cursor', field: 'cursor' },
    });
  });
});

describe('GET /v1/runs?status=', () => {
  it('gives every live run, however many have ended since', async () => {
    bench = await openApiBench();
    const old = await startLiveRun(bench, { createdAt: at(-9_000) });
    const [waiting] = await queued(1, { createdAt: at(-8_000) });
    const ended = await queued(40);
    const client = await bench.apiClient();
    for (const { runId } of ended) await client.cancelRun(runId);
    const live = await client.listRunsPage({ status: ['queued', 'starting', 'running'], limit: 5 });
    expect(idsOf(live.runs)).toEqual(idsOf([old.head, waiting as RunHead]));
    expect(live.nextCursor).toBeUndefined();
    const running = await client.listRunsPage({ status: 'running', limit: 5 });
    expect(idsOf(running.runs)).toEqual([old.head.runId]);
    expect(await client.listRunsPage({ status: 'cancelling' })).toEqual({ runs: [] });
  });

  it('of several statuses, ended ones among them, finds all of them newest first', async () => {
    bench = await openApiBench();
    const heads: RunHead[] = [];
    for (let nth = 0; nth < 12; nth += 1) heads.push(await bench.accept({ createdAt: at(nth) }));
    const client = await bench.apiClient();
    for (const [nth, { runId }] of heads.entries()) if (nth % 3 > 0) await client.cancelRun(runId);
    const found: string[] = [];
    for await (const run of client.listRuns({ status: ['cancelled', 'running'], limit: 2 })) {
      found.push(run.runId);
    }
    const wanted = heads.filter((_, nth) => nth % 3 > 0).map(({ runId }) => runId);
    expect(found).toEqual(wanted.reverse());
  });

  it.each(['live', 'running,', 'Running', 'running queued', ''])(
    'refuses %j, and says what there is',
    async (status) => {
      bench = await openApiBench();
      const response = await fetch(`${bench.url}/v1/runs?status=${encodeURIComponent(status)}`, {
        headers: { authorization: `Bearer ${await bench.tokenFor('acme')}` },
      });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        code: 'invalid_request',
        field: 'query.status',
        detail: expect.stringContaining('queued, starting, running'),
      });
    },
  );
});
