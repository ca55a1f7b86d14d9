import type { Context, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { executionError, platformEvent, type Usage } from '#shared/contracts/index.ts';
import { redrivePages } from '#shared/orchestrator/index.ts';
import { pageKey } from '#shared/runs/dynamo-run-item.ts';
import type { RunHead } from '#shared/runs/index.ts';
import { reportUsage } from '#shared/usage/index.ts';
import { at, claimOf, NOON } from '#test/support/run-builders.ts';
import { openStreamBench, type StreamBench } from '#test/support/stream-bench.ts';
import { foldUsageHandler } from '../../../functions/workers/fold-usage/handler.ts';

let bench: StreamBench;
beforeEach(async () => {
  bench = await openStreamBench();
});
afterEach(() => bench.close());

const PATIENCE = { timeout: 10_000 };
const RANGE = { from: '2026-11-30', to: '2026-12-01' };

const report = (groupBy: 'day' | 'agent' = 'day') =>
  reportUsage(bench.fold.usage, { tenantId: 'acme', groupBy, limit: 10, ...RANGE }, Date.now());
const totals = async () => (await report()).total;

/** The attempt is over, the run is not: it may be tried again. */
async function requeue(head: RunHead, usage: Usage, now: string): Promise<RunHead> {
  const error = executionError('host_lost', 'the host is gone');
  const reason = { attempt: head.attempt, reason: error.message, error };
  const requeued = await bench.ledger.requeueRun({
    head,
    events: [platformEvent('run.requeued', reason, { timestamp: now })],
    error,
    usage,
    dueAt: at(90),
    now,
  });
  if (requeued.outcome !== 'applied') throw new Error(requeued.outcome);
  return requeued.head;
}

/** Two agents' runs and one without: tried again, completed, and cancelled before it ever started. */
async function writeRuns(): Promise<void> {
  const first = await bench.claim(await bench.accept({ agentId: 'ann' }));
  const again = await requeue(first, { inputTokens: 7, toolCalls: 1 }, at(30));
  await bench.finish(await bench.claim(again), { inputTokens: 10, costUsd: 0.25 }, at(90));
  await bench.finish(await bench.claim(await bench.accept()), { inputTokens: 100 }, at(12 * 3_600));
  const queued = await bench.accept({ agentId: 'bob' });
  const ended = await bench.ledger.finishRun({
    head: queued,
    ending: { status: 'cancelled', usage: {} },
    events: [platformEvent('run.cancelled', { usage: {} }, { timestamp: at(5) })],
    now: at(5),
  });
  if (ended.outcome !== 'applied') throw new Error(ended.outcome);
}

/** What {@link writeRuns} must come to. */
const EXPECTED = {
  runs: { completed: 2, cancelled: 1 },
  attempts: 3,
  // From the claim at noon, for each.
  activeMs: 30_000 + 90_000 + 12 * 3_600_000,
  usage: { inputTokens: 117, toolCalls: 1, costUsd: 0.25 },
  unreported: {
    cachedInputTokens: 3,
    outputTokens: 3,
    reasoningTokens: 3,
    modelCalls: 3,
    toolCalls: 2,
    costUsd: 2,
  },
};

describe('TRM-5 usage of ended attempts', () => {
  it('is folded from the stream, by day and by agent', async () => {
    bench.follow('fold-usage', foldUsageHandler(bench.fold));
    await writeRuns();
    await vi.waitFor(async () => expect((await totals()).runs).toEqual(EXPECTED.runs), PATIENCE);
    expect(await totals()).toEqual(EXPECTED);
    expect((await report()).rows).toMatchObject([
      { day: '2026-11-30', runs: { completed: 1, cancelled: 1 }, attempts: 2 },
      { day: '2026-12-01', runs: { completed: 1 }, attempts: 1, usage: { inputTokens: 100 } },
    ]);
    expect((await report('agent')).rows).toMatchObject([
      { runs: { completed: 1 }, usage: { inputTokens: 100 } },
      { agentId: 'ann', attempts: 2, runs: { completed: 1 }, usage: { inputTokens: 17 } },
      { agentId: 'bob', attempts: 0, runs: { cancelled: 1 } },
    ]);
  });

  it('stays the same however often and in whatever batches the stream is replayed', async () => {
    const records: DynamoDBRecord[] = [];
    const source = bench.follow('fold-usage', ({ Records }: DynamoDBStreamEvent) => {
      records.push(...Records);
      return { batchItemFailures: [] };
    });
    await writeRuns();
    // Only what ends attempts or runs is told at all.
    await vi.waitFor(() => expect(records).toHaveLength(4), PATIENCE);
    await source.stop();

    const handler = foldUsageHandler(bench.fold);
    const deliver = async (places: readonly number[]) => {
      const event = { Records: places.flatMap((place) => records[place % 4] ?? []) };
      expect(await handler(event, {} as Context)).toEqual({ batchItemFailures: [] });
    };
    await deliver([0, 1, 2, 3]);
    const batches = fc.array(fc.array(fc.nat(3), { minLength: 1, maxLength: 6 }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(batches, fc.boolean(), async (replays, atOnce) => {
        if (atOnce) await Promise.all(replays.map(deliver));
        else for (const replay of replays) await deliver(replay);
        expect(await totals()).toEqual(EXPECTED);
      }),
      { numRuns: 15 },
    );
  });

  it('is counted by a redrive too, and only once', async () => {
    const head = await bench.accept();
    await bench.finish(await bench.claim(head), { inputTokens: 5 });
    const runs = [{ tenantId: 'acme', runId: head.runId, fromPage: 1 }];
    for (let times = 0; times < 3; times += 1) {
      await redrivePages(bench.redrive, { action: 'runs', runs });
    }
    expect(await totals()).toMatchObject({ attempts: 1, usage: { inputTokens: 5 } });
  });

  it('waits for a redrive when its page cannot be read; nothing else does', async () => {
    bench.follow('fold-usage', foldUsageHandler(bench.fold));
    const bad = await bench.accept();
    const page = { kind: 'page', page: 'final', tenantId: 'acme', runId: bad.runId, index: 2 };
    await bench.table.put({ ...pageKey(bad, 2), ...page, body: '{' });
    await bench.finish(await bench.claim(await bench.accept()), { inputTokens: 5 });
    await vi.waitFor(async () => expect((await totals()).attempts).toBe(1), PATIENCE);
    const parked = await redrivePages(bench.redrive, { action: 'parked' });
    expect(parked).toMatchObject({
      runs: [{ runId: bad.runId, stopped: { page: 2, code: 'unreadable_page' } }],
      waiting: { usage: 1 },
    });
  });

  it('is delivered again from the first page that could not be counted', async () => {
    let busy = true;
    const { ledger } = bench;
    const readHead: typeof ledger.readHead = async (ref) => {
      if (busy) throw new Error('the table is busy');
      return ledger.readHead(ref);
    };
    bench.follow('fold-usage', async (event: DynamoDBStreamEvent, context: Context) => {
      const answer = await foldUsageHandler({ ...bench.fold, ledger: { ...ledger, readHead } })(
        event,
        context,
      );
      if (busy) {
        expect(answer).toEqual({
          batchItemFailures: [{ itemIdentifier: event.Records[0]?.dynamodb?.SequenceNumber }],
        });
      }
      busy = false;
      return answer;
    });
    await bench.finish(await bench.claim(await bench.accept()), { inputTokens: 5 });
    await vi.waitFor(async () => expect((await totals()).attempts).toBe(1), PATIENCE);
  });

  it('counts every attempt of a run, and the run when it has ended', async () => {
    bench.follow('fold-usage', foldUsageHandler(bench.fold));
    let head = await bench.accept({ maxAttempts: 5 });
    for (let n = 0; n < 3; n += 1) {
      const claim = await bench.ledger.claimForLaunch(claimOf(head));
      if (claim.outcome !== 'claimed') throw new Error(claim.outcome);
      head = await requeue(claim.head, { modelCalls: 1 }, NOON);
    }
    await vi.waitFor(async () => expect((await totals()).attempts).toBe(3), PATIENCE);
    expect(await totals()).toMatchObject({ runs: {}, usage: { modelCalls: 3 } });
  });
});
