import { randomBytes } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { platformEvent, runIdSchema } from '#shared/contracts/index.ts';
import { openDynamoRunLedger } from '#shared/runs/dynamo-run-ledger.ts';
import {
  LOG_BEGINNING,
  type RunHead,
  type RunLedger,
  readEvents,
  runIdOfKey,
} from '#shared/runs/index.ts';
import { Table } from '#shared/table/index.ts';
import { QUOTA_PARTITIONS } from '#shared/topology/index.ts';
import { openEmbeddedTable } from '#test/support/embedded-table.ts';
import {
  at,
  claimOf,
  completedResult,
  creationOf,
  NOON,
  noticeEvent,
  queuedHead,
  SPECIFICATION,
  TERMS,
} from '#test/support/run-builders.ts';

let embedded: Awaited<ReturnType<typeof openEmbeddedTable>>;
let ledger: RunLedger;

beforeAll(async () => {
  embedded = await openEmbeddedTable();
  ledger = openDynamoRunLedger(embedded.table);
});
afterAll(() => embedded.close());

async function create(fields: Partial<RunHead> = {}): Promise<RunHead> {
  const head = queuedHead(fields);
  await ledger.createRun(creationOf(head));
  return head;
}

const claim = (head: RunHead, tenantLimit?: number) =>
  ledger.claimForLaunch(claimOf(head, tenantLimit));

/** The same table for a function that dies when it has made this many writes. */
async function tableThatDiesAfter(writes: number): Promise<Table> {
  const { endpoint, region, credentials } = embedded.client.config;
  const client = new DynamoDBClient({
    region,
    credentials,
    ...(endpoint ? { endpoint: await endpoint() } : {}),
  });
  let left = writes;
  client.middlewareStack.add(
    (next) => async (args) => {
      if (left === 0) throw new Error('the function died here');
      left -= 1;
      return next(args);
    },
    { step: 'initialize', name: 'die' },
  );
  return new Table(client, embedded.name);
}

/** A run that a host has claimed, in its first attempt. */
async function running(fields: Partial<RunHead> = {}): Promise<RunHead> {
  const claimed = await claim(await create(fields));
  if (claimed.outcome !== 'claimed') throw new Error(claimed.outcome);
  const hosted = await ledger.claimByHost({
    ref: claimed.head,
    epoch: claimed.head.epoch,
    hostInstanceId: 'host-aaaa',
    leaseExpiresAt: at(45),
    now: NOON,
  });
  if (hosted.outcome !== 'applied') throw new Error(hosted.outcome);
  return hosted.head;
}

async function append(
  head: RunHead,
  first: number,
  messages: string[],
  position?: { nextIndex: number; nextSequence: number },
) {
  return ledger.appendPage({
    ref: head,
    epoch: head.epoch,
    traceId: head.traceId,
    position: position ?? (await ledger.logEnd(head)),
    firstProducerSequence: first,
    events: messages.map((message) => noticeEvent(message)),
  });
}

async function log(head: RunHead) {
  const events = [];
  let read = await readEvents(ledger, head, LOG_BEGINNING, 10);
  while (read.events.length > 0) {
    events.push(...read.events);
    read = await readEvents(ledger, head, read.next, 10);
  }
  return {
    complete: read.complete,
    sequences: events.map(({ event }) => event.sequence),
    types: events.map(({ event }) => event.eventType),
    messages: events.flatMap(({ event }) =>
      event.eventType === 'execution.diagnostic'
        ? [(event.payload as { message: string }).message]
        : [],
    ),
  };
}

async function counterOf(tenantId: string | undefined, shard = 0) {
  const partitions = await Promise.all(
    Array.from({ length: QUOTA_PARTITIONS }, (_, n) => ledger.listQuotaCounters(n)),
  );
  return partitions
    .flat()
    .find((counter) => counter.tenantId === tenantId && counter.shard === shard);
}

const finishing = (head: RunHead) =>
  ledger.finishRun({
    head,
    ending: { status: 'completed', usage: { inputTokens: 10 }, result: completedResult() },
    events: [platformEvent('run.completed', { usage: { inputTokens: 10 } }, { timestamp: at(9) })],
    now: at(9),
  });

const requeueing = (head: RunHead) =>
  ledger.requeueRun({
    head,
    error: { class: 'EngineUnavailable', code: 'host_lost', message: 'gone', sideEffects: 'none' },
    usage: {},
    events: [
      platformEvent(
        'run.requeued',
        { attempt: head.attempt, reason: 'gone' },
        { timestamp: at(5) },
      ),
    ],
    dueAt: at(65),
    now: at(5),
  });

describe('create', () => {
  it('ORC-1 stores head, specification and first event together', async () => {
    const head = await create();
    expect(await ledger.readHead(head)).toEqual(head);
    expect(await ledger.readSpecification(head)).toEqual(SPECIFICATION);
    expect(await log(head)).toMatchObject({
      complete: false,
      sequences: [1],
      types: ['run.queued'],
    });
  });

  it('ORC-1 answers the first run to the same id and body, and refuses another body', async () => {
    const first = queuedHead();
    const second = queuedHead({
      runId: first.runId,
      traceId: 'f'.repeat(32),
      createdAt: at(5),
      deadlineAt: at(2_000),
    });
    expect(await ledger.createRun(creationOf(first, 'a'))).toEqual({
      outcome: 'created',
      head: first,
    });
    expect(await ledger.createRun(creationOf(second, 'a'))).toEqual({
      outcome: 'replayed',
      head: first,
    });
    expect(await ledger.createRun(creationOf(second, 'b'))).toEqual({
      outcome: 'idempotency_conflict',
    });
    expect(await ledger.readHead(first)).toEqual(first);
  });

  it('B143 makes different runs of one key in two tenants', () => {
    const key = 'shared-key';
    expect(runIdOfKey('tenant-a', key)).toBe(runIdOfKey('tenant-a', key));
    expect(runIdOfKey('tenant-a', key)).not.toBe(runIdOfKey('tenant-b', key));
    expect(runIdSchema.safeParse(runIdOfKey('tenant-a', key)).success).toBe(true);
  });

  it('ORC-1 completes a creation that died between its page and its head', async () => {
    const first = queuedHead();
    await expect(
      openDynamoRunLedger(await tableThatDiesAfter(1)).createRun(creationOf(first, 'a')),
    ).rejects.toThrow('died');
    expect(await ledger.readHead(first)).toBeUndefined();
    const second = queuedHead({ runId: first.runId, traceId: 'f'.repeat(32), createdAt: at(5) });
    expect(await ledger.createRun(creationOf(second, 'b'))).toEqual({
      outcome: 'idempotency_conflict',
    });
    expect(await ledger.createRun(creationOf(second, 'a'))).toEqual({
      outcome: 'replayed',
      head: first,
    });
    expect((await log(first)).types).toEqual(['run.queued']);
  });

  it('creates one run out of many requests at once for one id', async () => {
    const { runId } = queuedHead();
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        ledger.createRun(
          creationOf(queuedHead({ runId, traceId: String(n).padStart(32, '0'), createdAt: at(n) })),
        ),
      ),
    );
    expect(outcomes.filter(({ outcome }) => outcome === 'created')).toHaveLength(1);
    const [head, ...others] = new Set(
      outcomes.map((created) => JSON.stringify('head' in created ? created.head : undefined)),
    );
    expect(others).toEqual([]);
    expect(JSON.stringify(await ledger.readHead({ tenantId: 'acme', runId }))).toBe(head);
  });

  it('B89 refuses what no item can hold, and stores nothing of it', async () => {
    const head = queuedHead();
    const noise = randomBytes(450 * 1024).toString('base64');
    await expect(
      ledger.createRun({
        ...creationOf(head),
        specification: { ...SPECIFICATION, config: { noise } },
      }),
    ).rejects.toMatchObject({ code: 'payload_too_large' });
    expect(await ledger.readPages(head, 0, 1)).toEqual([]);
  });
});

describe('claim', () => {
  it('B58 lets one of many claims through', async () => {
    const head = await create();
    const claims = await Promise.all(Array.from({ length: 8 }, () => claim(head)));
    expect(claims.map(({ outcome }) => outcome).sort()).toEqual([
      'claimed',
      ...Array(7).fill('lost'),
    ]);
    expect(await ledger.readHead(head)).toMatchObject({ status: 'starting', epoch: 1, attempt: 1 });
    expect(await ledger.readAttempts(head)).toMatchObject([{ attempt: 1, epoch: 1 }]);
    expect(await ledger.readSnapshot(head, 1)).toEqual({
      ...TERMS,
      attempt: 1,
      epoch: 1,
      claimedAt: NOON,
    });
  });

  it('ORC-6 waits when the tenant has no free slot, and goes on when one is released', async () => {
    const tenantId = 'quota-tenant';
    const first = await running({ tenantId });
    const second = await create({ tenantId });
    expect((await claim(second, 1)).outcome).toBe('quota_exceeded');
    expect(await ledger.readHead(second)).toMatchObject({ status: 'queued', epoch: 0 });
    await finishing(first);
    expect((await claim(second, 1)).outcome).toBe('claimed');
  });

  it('ORC-4 refuses a second host and answers the first one again', async () => {
    const head = await running();
    const byHost = (hostInstanceId: string) =>
      ledger.claimByHost({
        ref: head,
        epoch: 1,
        hostInstanceId,
        leaseExpiresAt: at(45),
        now: NOON,
      });
    expect((await byHost('host-bbbb')).outcome).toBe('refused');
    expect((await byHost('host-aaaa')).outcome).toBe('applied');
  });

  it('TRM-2 refuses heartbeat and task name of an epoch that is over', async () => {
    const head = await running({ repeatable: true });
    await requeueing(head);
    expect((await ledger.renewLease(head, 1, at(60))).outcome).toBe('refused');
    expect((await ledger.recordTask(head, 1, 'arn')).outcome).toBe('refused');
  });
});

describe('append', () => {
  it('TRM-4 numbers densely and stores a batch sent again once', async () => {
    const head = await running();
    const start = await ledger.logEnd(head);
    const first = await append(head, 1, ['a', 'b'], start);
    expect(first).toMatchObject({ outcome: 'stored', storedThrough: 2 });
    expect(await append(head, 1, ['a', 'b'], start)).toEqual(first);
    expect(await append(head, 1, ['a', 'b', 'c'], start)).toMatchObject({
      outcome: 'stored',
      storedThrough: 3,
    });
    expect(await log(head)).toMatchObject({ sequences: [1, 2, 3, 4], messages: ['a', 'b', 'c'] });
  });

  it('TRM-4 stores once what was sent together and is sent again in parts', async () => {
    const head = await running();
    const start = await ledger.logEnd(head);
    await append(head, 1, ['a', 'b', 'c'], start);
    const part = await append(head, 1, ['a'], start);
    if (part.outcome !== 'stored') throw new Error(part.outcome);
    const rest = await append(head, 2, ['b', 'c', 'd'], part.position);
    expect(rest).toMatchObject({ outcome: 'stored', storedThrough: 4 });
    expect((await log(head)).messages).toEqual(['a', 'b', 'c', 'd']);
  });

  it('renumbers behind a page of the platform and tells what it says', async () => {
    const head = await running();
    const start = await ledger.logEnd(head);
    await ledger.requestCancel({
      head,
      reason: 'enough',
      event: platformEvent(
        'run.cancel_requested',
        { requestedBy: 'me', reason: 'enough' },
        { timestamp: NOON },
      ),
      now: NOON,
      dueAt: at(30),
    });
    const appended = await append(head, 1, ['late'], start);
    expect(appended).toMatchObject({
      outcome: 'stored',
      storedThrough: 1,
      platformEvents: [{ eventType: 'run.cancel_requested' }],
    });
    expect((await log(head)).types).toEqual([
      'run.queued',
      'run.cancel_requested',
      'execution.diagnostic',
    ]);
  });

  it('TRM-2 B104 fences the host whose run was taken away, and not the one that took it', async () => {
    const stale = await running({ repeatable: true });
    const start = await ledger.logEnd(stale);
    const requeued = await requeueing(stale);
    if (requeued.outcome !== 'applied') throw new Error(requeued.outcome);
    const again = await claim(requeued.head);
    if (again.outcome !== 'claimed') throw new Error(again.outcome);
    expect(await append(stale, 1, ['stale'], start)).toEqual({ outcome: 'fenced', by: 'seal' });
    expect(await append(again.head, 1, ['fresh'], start)).toMatchObject({ outcome: 'stored' });
    expect(await append(stale, 1, ['stale'], start)).toEqual({ outcome: 'fenced', by: 'seal' });
    expect((await log(stale)).messages).toEqual(['fresh']);
  });

  it('TRM-4 B106 refuses events after the end', async () => {
    const head = await running();
    const start = await ledger.logEnd(head);
    await finishing(head);
    expect(await append(head, 1, ['late'], start)).toEqual({ outcome: 'fenced', by: 'final' });
    expect(await log(head)).toMatchObject({
      complete: true,
      types: ['run.queued', 'run.completed'],
    });
  });

  it('keeps order and density while host and platform write at once', async () => {
    const head = await running();
    const host = async () => {
      let position = await ledger.logEnd(head);
      for (let batch = 0; batch < 20; batch += 1) {
        const appended = await append(
          head,
          batch * 3 + 1,
          [0, 1, 2].map((n) => `${batch}.${n}`),
          position,
        );
        if (appended.outcome !== 'stored') return appended.outcome;
        position = appended.position;
      }
      return 'stored';
    };
    const [stored, cancel] = await Promise.all([
      host(),
      ledger.requestCancel({
        head,
        reason: undefined,
        event: platformEvent('run.cancel_requested', { requestedBy: 'me' }, { timestamp: NOON }),
        now: NOON,
        dueAt: at(30),
      }),
    ]);
    expect([stored, cancel.outcome]).toEqual(['stored', 'applied']);
    const { sequences, messages } = await log(head);
    expect(sequences).toEqual(sequences.map((_, index) => index + 1));
    expect(messages).toEqual(Array.from({ length: 60 }, (_, n) => `${Math.floor(n / 3)}.${n % 3}`));
  });

  it('gives back a large page that was stored compressed, byte for byte', async () => {
    const head = await running();
    const message = 'ü☕ '.repeat(20_000);
    await append(head, 1, [message]);
    expect((await log(head)).messages).toEqual([message]);
  });
});

describe('end', () => {
  it('TRM-3 writes status, final event, usage, attempt and quota in one', async () => {
    const tenantId = 'end-tenant';
    const head = await running({ tenantId });
    const ended = await finishing(head);
    expect(ended.outcome).toBe('applied');
    const stored = await ledger.readHead(head);
    expect(stored).toMatchObject({
      status: 'completed',
      endedAt: at(9),
      usage: { inputTokens: 10 },
    });
    expect(stored).not.toHaveProperty('dueAt');
    expect(stored).not.toHaveProperty('quota');
    expect(stored).toEqual(ended.outcome === 'applied' ? ended.head : undefined);
    expect(await ledger.readAttempts(head)).toMatchObject([
      { outcome: 'completed', endedAt: at(9) },
    ]);
    expect((await ledger.readEnding(head, stored?.finalPage ?? 0))?.result).toEqual(
      completedResult(),
    );
    expect((await log(head)).complete).toBe(true);
    expect(await counterOf(tenantId)).toMatchObject({ live: 0 });
  });

  it('TRM-1 B100 lets the first of many endings win', async () => {
    const head = await running();
    const endings = await Promise.all(Array.from({ length: 6 }, () => finishing(head)));
    expect(endings.map(({ outcome }) => outcome).sort()).toEqual([
      'applied',
      ...Array(5).fill('changed'),
    ]);
    expect((await log(head)).types.filter((type) => type === 'run.completed')).toHaveLength(1);
  });

  it('TRM-1 makes a decision void that was made before a cancel', async () => {
    const head = await running();
    await ledger.requestCancel({
      head,
      reason: 'stop',
      event: platformEvent('run.cancel_requested', { requestedBy: 'me' }, { timestamp: NOON }),
      now: NOON,
      dueAt: at(30),
    });
    const ended = await finishing(head);
    expect(ended).toMatchObject({
      outcome: 'changed',
      head: { status: 'cancelling', cancelReason: 'stop' },
    });
  });

  it('B113 never counts a slot below zero', async () => {
    const tenantId = 'floor-tenant';
    const head = await running({ tenantId });
    await finishing(head);
    await finishing(head);
    expect(await counterOf(tenantId)).toMatchObject({ live: 0 });
  });
});

describe('read', () => {
  it('lists the runs of one tenant, newest first, page by page', async () => {
    const tenantId = 'list-tenant';
    const made = [];
    for (let n = 0; n < 5; n += 1) made.push(await create({ tenantId, createdAt: at(n) }));
    const first = await ledger.listRuns(tenantId, { limit: 3 });
    const second = await ledger.listRuns(tenantId, { limit: 3, cursor: first.nextCursor });
    expect([...first.heads, ...second.heads].map(({ runId }) => runId)).toEqual(
      made.map(({ runId }) => runId).reverse(),
    );
    expect(second.nextCursor).toBeUndefined();
  });

  it('SEC-4 refuses the list cursor of another tenant', async () => {
    for (let n = 0; n < 2; n += 1) await create({ tenantId: 'tenant-x' });
    const { nextCursor } = await ledger.listRuns('tenant-x', { limit: 1 });
    await expect(
      ledger.listRuns('tenant-y', { limit: 1, cursor: nextCursor }),
    ).rejects.toMatchObject({ code: 'invalid_cursor' });
  });

  it('finds due runs by their timer alone, and moves a timer only as it was seen', async () => {
    const head = await create({ tenantId: 'due-tenant', dueAt: at(60) });
    const due = async (now: string) => {
      const shards = await Promise.all(
        Array.from({ length: 8 }, (_, shard) => ledger.dueTimers(shard, now, { limit: 1_000 })),
      );
      return shards.some(({ timers }) =>
        timers.some((timer) => timer.kind === 'run' && timer.ref.runId === head.runId),
      );
    };
    expect(await due(at(59))).toBe(false);
    expect(await due(at(60))).toBe(true);
    expect((await ledger.moveTimer(head, at(1), at(500))).outcome).toBe('refused');
    expect((await ledger.moveTimer(head, at(60), at(120))).outcome).toBe('applied');
    expect(await due(at(60))).toBe(false);
  });
});
