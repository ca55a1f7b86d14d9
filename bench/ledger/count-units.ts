/**
 * Counts the write units of one whole run on the embedded table, as DynamoDB would bill them: first everything but its
 * events, then streamed text by size of its deltas. Prints one JSON object. Figures are counts, not times: they are the
 * same on every machine.
 *
 *     node bench/ledger/count-units.ts
 */
import { randomBytes } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { platformEvent } from '#shared/contracts/index.ts';
import { openDynamoRunLedger } from '#shared/runs/dynamo-run-ledger.ts';
import type { RunHead } from '#shared/runs/index.ts';
import { openEmbeddedTable } from '#test/support/embedded-table.ts';
import {
  at,
  claimOf,
  completedResult,
  creationOf,
  NOON,
  queuedHead,
} from '#test/support/run-builders.ts';

/** The host flushes what comes in 150 ms: at 60 deltas a second, nine of them. */
const DELTAS_PER_PAGE = 9;
const PAGES = 100;
const HEARTBEATS = 4;

const embedded = await openEmbeddedTable();
const units = countUnits(embedded.client);
const ledger = openDynamoRunLedger(embedded.table);

const run = await claimedRun();
const besidesEvents = { createClaimHeartbeats: units.take(), finish: 0, total: 0 };
const streams: Record<string, object> = {};
for (const deltaBytes of [40, 400])
  streams[`deltas of ${deltaBytes} bytes`] = await streamText(run, deltaBytes);
await ledger.finishRun({
  head: run,
  ending: { status: 'completed', usage: {}, result: completedResult() },
  events: [platformEvent('run.completed', { usage: {} }, { timestamp: at(60) })],
  now: at(60),
});
besidesEvents.finish = units.take();
besidesEvents.total = besidesEvents.createClaimHeartbeats + besidesEvents.finish;
console.log(
  JSON.stringify(
    {
      writeUnits: {
        besidesEvents,
        budgetBesidesEvents: 20,
        budgetPerKilobyteOfText: 0.35,
        streams,
      },
    },
    null,
    2,
  ),
);
await embedded.close();

async function claimedRun(): Promise<RunHead> {
  // Its timer is within a lease, as a submitted run's is.
  const head = queuedHead({ dueAt: at(45) });
  await ledger.createRun(creationOf(head));
  const claim = await ledger.claimForLaunch(claimOf(head));
  if (claim.outcome !== 'claimed') throw new Error(claim.outcome);
  await ledger.recordTask(
    head,
    1,
    'arn:aws:ecs:eu-west-1:000000000000:task/nexusdesk/0123456789abcdef0123456789abcdef',
  );
  const hosted = await ledger.claimByHost({
    ref: head,
    epoch: 1,
    hostInstanceId: 'host-aaaa',
    leaseExpiresAt: at(45),
    now: NOON,
  });
  for (let beat = 0; beat < HEARTBEATS; beat += 1) await ledger.renewLease(head, 1, at(60 + beat));
  if (hosted.outcome !== 'applied') throw new Error(hosted.outcome);
  return hosted.head;
}

/** Text with the entropy of prose: words of a small vocabulary. */
async function streamText(head: RunHead, deltaBytes: number): Promise<object> {
  const words = Array.from({ length: 500 }, () => randomBytes(4).toString('base64url'));
  let position = await ledger.logEnd(head);
  let rawBytes = 0;
  let producer = 1;
  for (let page = 0; page < PAGES; page += 1) {
    const events = Array.from({ length: DELTAS_PER_PAGE }, () => {
      let text = '';
      while (text.length < deltaBytes)
        text += `${words[Math.floor(Math.random() * words.length)]} `;
      return platformEvent(
        'message.delta',
        { messageId: 'item_1', text: text.slice(0, deltaBytes) },
        { timestamp: NOON },
      );
    });
    rawBytes += Buffer.byteLength(JSON.stringify(events));
    const appended = await ledger.appendPage({
      ref: head,
      epoch: 1,
      traceId: head.traceId,
      position,
      firstProducerSequence: producer,
      events,
    });
    if (appended.outcome !== 'stored') throw new Error(appended.outcome);
    position = appended.position;
    producer += events.length;
  }
  const written = units.take();
  return {
    events: PAGES * DELTAS_PER_PAGE,
    writeUnits: written,
    perEvent: round(written / (PAGES * DELTAS_PER_PAGE)),
    perKilobyteOfRawEvents: round(written / (rawBytes / 1024)),
  };
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** Asks for the consumed capacity of every request and adds it up. */
function countUnits(client: DynamoDBClient): { take(): number } {
  let sum = 0;
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const isWrite = /Put|Update|Delete|TransactWrite/.test(String(context.commandName));
      const reply = await next({
        ...args,
        input: {
          ...args.input,
          ...(isWrite ? { ReturnConsumedCapacity: 'TOTAL' } : {}),
        } as typeof args.input,
      });
      const { ConsumedCapacity } = reply.output as {
        ConsumedCapacity?: { CapacityUnits?: number } | { CapacityUnits?: number }[];
      };
      for (const consumed of [ConsumedCapacity ?? []].flat()) sum += consumed.CapacityUnits ?? 0;
      return reply;
    },
    { step: 'initialize', name: 'countUnits' },
  );
  return {
    take() {
      const taken = sum;
      sum = 0;
      return taken;
    },
  };
}
