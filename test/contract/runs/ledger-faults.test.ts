import { randomBytes } from 'node:crypto';
import {
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ERROR_SPECS, platformEvent } from '#shared/contracts/index.ts';
import { duePartition, dueShardOf, headKey, toHeadItem } from '#shared/runs/dynamo-run-item.ts';
import { openDynamoRunLedger } from '#shared/runs/dynamo-run-ledger.ts';
import type { RunLedger } from '#shared/runs/index.ts';
import { itemBytes } from '#shared/table/index.ts';
import { openEmbeddedTable } from '#test/support/embedded-table.ts';
import { runsOf } from '#test/support/ledger-runs.ts';
import { at, completedResult, noticeEvent, queuedHead } from '#test/support/run-builders.ts';

let embedded: Awaited<ReturnType<typeof openEmbeddedTable>>;
let ledger: RunLedger;
let runs: ReturnType<typeof runsOf>;

beforeAll(async () => {
  embedded = await openEmbeddedTable();
  ledger = openDynamoRunLedger(embedded.table);
  runs = runsOf(ledger);
});
afterAll(() => embedded.close());
afterEach(() => embedded.client.middlewareStack.remove('fault'));

/** Every request of these kinds fails like this, `times` times; then all go through. */
function failing(kind: RegExp, error: () => Error, times = Number.POSITIVE_INFINITY): void {
  let left = times;
  embedded.client.middlewareStack.add(
    (next, context) => async (args) => {
      if (!kind.test(context.commandName ?? '') || left === 0) return next(args);
      left -= 1;
      throw error();
    },
    { step: 'initialize', name: 'fault' },
  );
}

const cancelled = (...codes: string[]) =>
  new TransactionCanceledException({
    message: 'cancelled',
    $metadata: {},
    CancellationReasons: codes.map((Code) => ({ Code })),
  });

describe('a refused transaction', () => {
  it('B85 is told apart from a fault, whatever its name', async () => {
    const head = await runs.in('running');
    failing(/Transact/, () => cancelled('ConditionalCheckFailed', 'None', 'None'));
    expect(await runs.finish(head)).toEqual({ outcome: 'changed', head: undefined });
  });

  it.each([
    ['TransactionConflict', 'None'],
    ['ThrottlingError', 'None'],
    ['ProvisionedThroughputExceeded', 'None'],
  ])('B86 is repeated when it was cancelled for %s', async (...codes) => {
    const head = await runs.in('running');
    failing(/Transact/, () => cancelled(...codes), 2);
    expect((await runs.finish(head)).outcome).toBe('applied');
  });

  it('B86 is said to be busy, never refused, when that does not pass', async () => {
    const head = await runs.in('running');
    failing(/Transact/, () => cancelled('TransactionConflict', 'None'));
    await expect(runs.finish(head)).rejects.toMatchObject({ code: 'throttled' });
    expect(ERROR_SPECS.throttled.http).toBe(503);
    embedded.client.middlewareStack.remove('fault');
    expect(await ledger.readHead(head)).toMatchObject({ status: 'running' });
  });
});

describe('an item', () => {
  const noise = (bytes: number) => randomBytes(bytes).toString('base64').slice(0, bytes);

  it.each([
    ['399 000 bytes that can be packed', 'the tests pass. '.repeat(25_000).slice(0, 399_000)],
    ['399 000 bytes that cannot', noise(399_000)],
    ['409 599 bytes that cannot', noise(409_599)],
    ['410 000 bytes that cannot', noise(410_000)],
    ['600 000 bytes that cannot', noise(600_000)],
    ['137 000 characters of three bytes', '€'.repeat(137_000)],
  ])('B89 of %s is stored as it is, or refused before it is sent', async (_, message) => {
    const head = await runs.in('running');
    const appended = await runs
      .append(head, 1, [message])
      .catch((error: { code?: string }) => ({ outcome: error.code }));
    const [, page] = await ledger.readPages(head, 0, 10);
    expect([appended.outcome, page?.events]).toEqual(
      appended.outcome === 'stored'
        ? ['stored', [noticeEvent(message)]]
        : ['payload_too_large', undefined],
    );
  });

  it('B91 leaves out what is undefined, at every level', async () => {
    const head = await runs.in('running');
    await ledger.finishRun({
      head,
      // As untyped code may hand it over.
      ending: {
        status: 'completed',
        usage: { inputTokens: 10, cachedInputTokens: undefined },
        error: undefined,
        result: completedResult({ error: undefined } as object),
      } as never,
      events: [platformEvent('run.completed', { usage: {} }, { timestamp: at(9) })],
      now: at(9),
    });
    const item = await embedded.table.get(headKey(head), { consistent: true });
    expect(item).toMatchObject({ status: 'completed', usage: { inputTokens: 10 } });
    expect(JSON.stringify(item)).not.toMatch(/null|cachedInputTokens|"error"/);
  });

  it('B92 keeps counters where every part of the platform can hold them', async () => {
    const head = await runs.in('running', { repeatable: true });
    const most = Number.MAX_SAFE_INTEGER;
    const usage = { inputTokens: most, costUsd: 1.23e40 };
    const requeued = await ledger.requeueRun({
      head,
      error: { class: 'EngineUnavailable', code: 'host_lost', message: '', sideEffects: 'none' },
      usage,
      events: [platformEvent('run.requeued', { attempt: 1, reason: '' }, { timestamp: at(9) })],
      dueAt: at(60),
      now: at(9),
    });
    if (requeued.outcome !== 'applied') throw new Error(requeued.outcome);
    expect(await ledger.readHead(head)).toEqual(requeued.head);
    expect(requeued.head.usage).toEqual({ inputTokens: most, costUsd: 1_000_000_000 });
  });

  it('B92 with an odd number breaks neither its run nor the list', async () => {
    const tenantId = 'odd-tenant';
    const head = await runs.in('queued', { tenantId });
    await embedded.client.send(
      new UpdateItemCommand({
        TableName: embedded.name,
        Key: { pk: { S: headKey(head).pk }, sk: { S: 'HEAD' } },
        UpdateExpression: 'SET #u = :u',
        ExpressionAttributeNames: { '#u': 'usage' },
        ExpressionAttributeValues: {
          ':u': { M: { inputTokens: { N: '9007199254740998.25' }, costUsd: { N: '1.5' } } },
        },
      }),
    );
    const odd = { usage: { inputTokens: Number.MAX_SAFE_INTEGER, costUsd: 1.5 } };
    expect(await ledger.readHead(head)).toMatchObject(odd);
    expect((await ledger.listRuns(tenantId, { limit: 10 })).heads).toMatchObject([odd]);
  });

  it('of a head with names of usual length stays within one write unit, whatever is said of its run', async () => {
    const longest = (characters: number) => '€'.repeat(characters);
    const head = await runs.in('running', {
      tenantId: 't'.repeat(24),
      agentId: 'a'.repeat(24),
      conversationId: 'c'.repeat(36),
      deadlineAt: at(86_400),
    });
    await ledger.recordTask(
      head,
      1,
      `arn:aws:ecs:ap-southeast-1:000000000000:task/${'c'.repeat(32)}/${'0'.repeat(32)}`,
    );
    const cancelling = await runs.cancel(head, longest(500));
    if (cancelling.outcome !== 'applied') throw new Error(cancelling.outcome);
    const written = await embedded.table.get(headKey(head), { consistent: true });
    expect(itemBytes(written ?? {})).toBeLessThan(1024);
    await ledger.finishRun({
      head: cancelling.head,
      ending: {
        status: 'cancelled',
        usage: {
          inputTokens: 123_456_789,
          cachedInputTokens: 123_456_789,
          outputTokens: 123_456_789,
          reasoningTokens: 123_456_789,
          modelCalls: 123_456,
          toolCalls: 123_456,
          costUsd: 1234.567891,
        },
        error: {
          class: 'Cancelled',
          code: 'run_cancelled',
          message: longest(1_300),
          sideEffects: 'maybe',
          remedy: longest(300),
        },
      },
      events: [platformEvent('run.cancelled', { usage: {} }, { timestamp: at(9) })],
      now: at(9),
    });
    const ended = await embedded.table.get(headKey(head), { consistent: true });
    expect(itemBytes(ended ?? {})).toBeLessThan(1024);
    expect((await ledger.readEnding(head, Number(ended?.finalPage)))?.error?.message).toBe(
      longest(1_300),
    );
  });
});

describe('many readers', () => {
  it('B97 of one run are throttled with an answer that says when to come again, and do not touch its log', async () => {
    const head = await runs.in('running');
    let requests = 0;
    embedded.client.middlewareStack.add(
      (next, context) => async (args) => {
        requests += /Get|Query/.test(context.commandName ?? '') ? 1 : 0;
        if (requests % 10 === 0 && /Get|Query/.test(context.commandName ?? '')) {
          throw new ProvisionedThroughputExceededException({ message: 'slow', $metadata: {} });
        }
        return next(args);
      },
      { step: 'initialize', name: 'fault' },
    );
    const start = { nextIndex: 2, nextSequence: 2 };
    const [answers, appended] = await Promise.all([
      Promise.all(
        Array.from({ length: 200 }, () =>
          ledger.readHead(head).then(
            (found) => found?.runId,
            (error: { code?: string }) => error.code,
          ),
        ),
      ),
      runs.append(head, 1, ['a'], start),
    ]);
    expect(new Set(answers)).toEqual(new Set([head.runId, 'throttled']));
    expect(appended.outcome).toBe('stored');
  });

  it('B97 find timers spread over all shards, and counters of a tenant over several partitions', async () => {
    const shards = Array.from({ length: 400 }, () => {
      const head = queuedHead();
      return [toHeadItem(head).duePk, duePartition(dueShardOf(head.runId))] as const;
    });
    expect(shards.every(([stored, computed]) => stored === computed)).toBe(true);
    const loads = Map.groupBy(shards, ([stored]) => stored);
    expect(loads.size).toBe(8);
    expect(Math.max(...[...loads.values()].map((load) => load.length))).toBeLessThan(120);
  });
});
