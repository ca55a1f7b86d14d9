/**
 * The ledger under load: appends and events per second of one run and of many, and what a tick of the sweeper costs
 * with many finished runs behind it. Rates are of this machine; what counts is how they change with ten times as much,
 * which is measured in the same call. Write units are counted by `count-units.ts`, streams by `bench/sse`.
 *
 *     node bench/ledger/main.ts [--finished 1000,10000,100000]
 */
import { parseArgs } from 'node:util';
import { openInProcessDynamo } from '#local/aws/dynamo/in-process.ts';
import { makeTable } from '#local/stack/make-table.ts';
import { platformEvent } from '#shared/contracts/index.ts';
import { sweepDueRuns, timingSchema } from '#shared/orchestrator/index.ts';
import { toHeadItem } from '#shared/runs/dynamo-run-item.ts';
import { openDynamoRunLedger } from '#shared/runs/dynamo-run-ledger.ts';
import type { RunHead, RunLedger } from '#shared/runs/index.ts';
import { Table } from '#shared/table/index.ts';
import { openEmbeddedTable } from '#test/support/embedded-table.ts';
import { at, claimOf, creationOf, NOON, queuedHead } from '#test/support/run-builders.ts';
import { ENGLISH_WORDS } from './english-words.ts';

const { values: options } = parseArgs({
  options: { finished: { type: 'string', default: '1000,10000,100000' } },
});
/** What a host flushes while text streams. */
const EVENTS_PER_PAGE = 15;
const PAGES_IN_ALL = 2_000;
const LIVE_RUNS = 200;

const appends = await measureAppends();
const sweeps = [];
for (const finished of options.finished.split(',').map(Number)) {
  sweeps.push(await measureSweep(finished));
}
console.log(JSON.stringify({ appends, sweeps }, null, 2));

/** The same number of pages by 1, 16 and 160 runs at once, over the real SDK and a socket. */
async function measureAppends() {
  const rows = [];
  for (const runs of [1, 16, 160]) {
    const embedded = await openEmbeddedTable();
    const ledger = openDynamoRunLedger(embedded.table);
    const heads = await Promise.all(Array.from({ length: runs }, () => runningRun(ledger)));
    const pagesEach = Math.ceil(PAGES_IN_ALL / runs);
    const startedAt = performance.now();
    await Promise.all(heads.map((head) => appendPages(ledger, head, pagesEach)));
    const seconds = (performance.now() - startedAt) / 1000;
    await embedded.close();
    const pages = pagesEach * runs;
    rows.push({
      runs,
      appendsPerSecond: Math.round(pages / seconds),
      eventsPerSecond: Math.round((pages * EVENTS_PER_PAGE) / seconds),
      eventsPerSecondOfOneRun: Math.round((pagesEach * EVENTS_PER_PAGE) / seconds),
    });
  }
  return rows;
}

async function appendPages(ledger: RunLedger, head: RunHead, pages: number): Promise<void> {
  let position = await ledger.logEnd(head);
  let firstProducerSequence = 1;
  for (let page = 0; page < pages; page += 1) {
    const events = Array.from({ length: EVENTS_PER_PAGE }, (_, index) =>
      platformEvent(
        'message.delta',
        { messageId: 'item_1', text: words(page * EVENTS_PER_PAGE + index) },
        { timestamp: NOON },
      ),
    );
    const appended = await ledger.appendPage({
      ref: head,
      epoch: head.epoch,
      traceId: head.traceId,
      position,
      firstProducerSequence,
      events,
    });
    if (appended.outcome !== 'stored') throw new Error(appended.outcome);
    position = appended.position;
    firstProducerSequence += events.length;
  }
}

/** About 40 characters. */
function words(seed: number): string {
  return Array.from(
    { length: 7 },
    (_, index) => ENGLISH_WORDS[(seed * 31 + index * 97) % ENGLISH_WORDS.length],
  ).join(' ');
}

async function runningRun(ledger: RunLedger, fields: Partial<RunHead> = {}): Promise<RunHead> {
  const head = queuedHead(fields);
  await ledger.createRun(creationOf(head));
  const claim = await ledger.claimForLaunch(claimOf(head, 100_000));
  if (claim.outcome !== 'claimed') throw new Error(claim.outcome);
  const hosted = await ledger.claimByHost({
    ref: head,
    epoch: 1,
    hostInstanceId: 'host-aaaa',
    leaseExpiresAt: at(45),
    now: NOON,
  });
  if (hosted.outcome !== 'applied') throw new Error(hosted.outcome);
  return hosted.head;
}

/** One tick over the same live runs, all of them due with a lease that holds, beside so many finished ones. */
async function measureSweep(finished: number) {
  let now = Date.parse(NOON);
  const dynamo = openInProcessDynamo({ now: () => now, streamRetention: 1 });
  await makeTable(dynamo.client, 'nexusdesk');
  const table = new Table(dynamo.client, 'nexusdesk');
  const ledger = openDynamoRunLedger(table);
  for (let index = 0; index < finished; index += 1) {
    const { dueAt: _due, ...head } = queuedHead({
      status: 'completed',
      attempt: 1,
      epoch: 1,
      finalPage: 2,
      endedAt: at(10),
    });
    await table.put(toHeadItem(head));
  }
  for (let index = 0; index < LIVE_RUNS; index += 1) await runningRun(ledger);
  now = Date.parse(at(46));
  const requests = countRequests(dynamo.client);
  const startedAt = performance.now();
  const swept = await sweepDueRuns({
    ledger,
    clock: { now: () => now },
    timing: timingSchema.parse({}),
    queue: { send: async () => {} },
    launcher: {
      stop: async () => {},
      look: async (arns) => arns.map((taskArn) => ({ taskArn, state: 'running' as const })),
      find: async () => ({ taskArn: 'arn:task', state: 'running' as const }),
      listLive: async () => ({ tasks: [] }),
    },
    log: { info() {}, warn() {}, error() {} },
  });
  return {
    finishedRuns: finished,
    liveRuns: LIVE_RUNS,
    ...swept,
    tableRequests: requests.count,
    milliseconds: Math.round(performance.now() - startedAt),
  };
}

function countRequests(client: { send: (...args: never[]) => unknown }): { count: number } {
  const requests = { count: 0 };
  const send = client.send.bind(client);
  client.send = (...args: never[]) => {
    requests.count += 1;
    return send(...args);
  };
  return requests;
}
