import { ulid } from 'ulid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { executionError, platformEvent } from '#shared/contracts/index.ts';
import { openDynamoRunLedger } from '#shared/runs/dynamo-run-ledger.ts';
import type { RunHead, RunLedger } from '#shared/runs/index.ts';
import { QUOTA_PARTITIONS } from '#shared/topology/index.ts';
import { openEmbeddedTable } from '#test/support/embedded-table.ts';
import { type LossSeenBy, loseAnswers } from '#test/support/losing-answers.ts';
import {
  at,
  claimOf,
  completedResult,
  creationOf,
  noticeEvent,
  queuedHead,
} from '#test/support/run-builders.ts';

let embedded: Awaited<ReturnType<typeof openEmbeddedTable>>;
let ledger: RunLedger;

beforeAll(async () => {
  embedded = await openEmbeddedTable();
  ledger = openDynamoRunLedger(embedded.table);
});
afterAll(() => embedded.close());

type State = 'new' | 'queued' | 'starting' | 'running';

/** A run of a tenant of its own, so that its quota counter is its own too. */
async function runIn(state: State): Promise<RunHead> {
  const head = queuedHead({ tenantId: ulid(), repeatable: true });
  if (state === 'new') return head;
  await ledger.createRun(creationOf(head));
  if (state === 'queued') return head;
  const claimed = await ledger.claimForLaunch(claimOf(head));
  if (claimed.outcome !== 'claimed') throw new Error(claimed.outcome);
  if (state === 'starting') return claimed.head;
  const hosted = await hostClaim(claimed.head);
  if (hosted.outcome !== 'applied') throw new Error(hosted.outcome);
  return hosted.head;
}

const hostClaim = (head: RunHead) =>
  ledger.claimByHost({
    ref: head,
    epoch: head.epoch,
    hostInstanceId: 'host-aaaa',
    leaseExpiresAt: at(45),
    now: at(1),
  });

/** Every method that writes: from which state, and how it is called. Called twice, it is called with the same input. */
const WRITES: readonly [
  name: string,
  state: State,
  write: (head: RunHead) => Promise<string | { outcome: string }>,
][] = [
  ['createRun', 'new', (head) => ledger.createRun(creationOf(head))],
  ['claimForLaunch', 'queued', (head) => ledger.claimForLaunch(claimOf(head))],
  ['recordTask', 'starting', (head) => ledger.recordTask(head, 1, 'arn:task')],
  ['claimByHost', 'starting', hostClaim],
  ['renewLease', 'running', (head) => ledger.renewLease(head, 1, at(90))],
  ['moveTimer', 'running', (head) => ledger.moveTimer(head, head.dueAt ?? '', at(90))],
  [
    'requestCancel',
    'running',
    (head) =>
      ledger.requestCancel({
        head,
        reason: 'enough',
        event: platformEvent('run.cancel_requested', { requestedBy: 'me' }, { timestamp: at(2) }),
        now: at(2),
        dueAt: at(30),
      }),
  ],
  [
    'appendPage',
    'running',
    async (head) =>
      ledger.appendPage({
        ref: head,
        epoch: 1,
        traceId: head.traceId,
        position: { nextIndex: 2, nextSequence: 2 },
        firstProducerSequence: 1,
        events: [noticeEvent('a'), noticeEvent('b')],
      }),
  ],
  ['releaseClaim', 'starting', (head) => ledger.releaseClaim({ head, dueAt: at(90) })],
  [
    'finishRun',
    'running',
    (head) =>
      ledger.finishRun({
        head,
        ending: { status: 'completed', usage: { inputTokens: 7 }, result: completedResult() },
        events: [
          platformEvent('run.completed', { usage: { inputTokens: 7 } }, { timestamp: at(9) }),
        ],
        now: at(9),
      }),
  ],
  [
    'requeueRun',
    'running',
    (head) =>
      ledger.requeueRun({
        head,
        error: executionError('host_lost', 'gone'),
        usage: { inputTokens: 7 },
        events: [
          platformEvent('run.requeued', { attempt: 1, reason: 'gone' }, { timestamp: at(9) }),
        ],
        dueAt: at(70),
        now: at(9),
      }),
  ],
  [
    'correctQuota',
    'running',
    ({ tenantId }) => ledger.correctQuota({ tenantId, shard: 0, live: 1, moves: 1 }, 5),
  ],
];

async function countersOf({ tenantId }: RunHead) {
  const partitions = await Promise.all(
    Array.from({ length: QUOTA_PARTITIONS }, (_, n) => ledger.listQuotaCounters(n)),
  );
  return partitions.flat().filter((counter) => counter.tenantId === tenantId);
}

/** Everything the table says of a run, without the names that two runs cannot share. */
async function stored(head: RunHead) {
  const [now, pages, attempts, counters] = await Promise.all([
    ledger.readHead(head),
    ledger.readPages(head, 0, 100),
    ledger.readAttempts(head),
    countersOf(head),
  ]);
  const { tenantId, runId, ...rest } = now ?? head;
  return {
    head: rest,
    pages,
    attempts,
    counters: counters.map(({ live, moves }) => ({ live, moves })),
  };
}

const outcomeOf = (written: string | { outcome: string }) =>
  typeof written === 'string' ? written : written.outcome;

describe.each(WRITES)('%s', (_, state, write) => {
  it.each<[LossSeenBy]>([['sdk'], ['caller']])(
    'B95 converges when its write landed and the %s did not hear of it',
    async (seenBy) => {
      const control = await runIn(state);
      const expected = outcomeOf(await write(control));

      const head = await runIn(state);
      const stop = loseAnswers(embedded.client, seenBy);
      const outcome = await write(head)
        .catch(() => write(head))
        .then(outcomeOf)
        .finally(() => expect(stop()).toBeGreaterThan(0));
      expect(outcome).toBe(expected);
      expect(await stored(head)).toEqual(await stored(control));
    },
  );

  it('changes nothing when it is repeated later', async () => {
    const head = await runIn(state);
    await write(head);
    const first = await stored(head);
    await write(head);
    expect(await stored(head)).toEqual(first);
  });
});
