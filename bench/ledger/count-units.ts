/**
 * Counts the write units of one whole run on the embedded table, as DynamoDB would bill them (twice in a transaction,
 * index entries too): first everything but its events, then streamed text by kind and by size of its deltas, then the
 * recorded transcripts of an engine. Prints one JSON object, and ends with 1 when a budget is exceeded. Figures are
 * counts, not times: they are the same on every machine.
 *
 *     node bench/ledger/count-units.ts
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type NewEvent, platformEvent } from '#shared/contracts/index.ts';
import { openDynamoRunLedger } from '#shared/runs/dynamo-run-ledger.ts';
import type { RunHead, RunLedger } from '#shared/runs/index.ts';
import { openEmbeddedTable } from '#test/support/embedded-table.ts';
import {
  at,
  claimOf,
  completedResult,
  creationOf,
  NOON,
  queuedHead,
} from '#test/support/run-builders.ts';
import { countWriteUnits, seededRandom } from './count-write-units.ts';
import { ENGLISH_WORDS } from './english-words.ts';

const BUDGET_BESIDES_EVENTS = 20;
const BUDGET_PER_KILOBYTE = 0.35;
/** The host flushes what comes in 250 ms: at 60 deltas a second, fifteen of them. */
const DELTAS_PER_PAGE = 15;
const DELTA_BYTES = [40, 400];
const PAGES = 100;
/** Every event of an engine carries the name of its session. */
const SESSION = '0199f3a2-7c1e-7d10-b6a8-4b7f5e3a9c21';

const root = join(import.meta.dirname, '../..');
const embedded = await openEmbeddedTable();
const units = countWriteUnits(embedded.client);
const ledger = openDynamoRunLedger(embedded.table);
const random = seededRandom(1);
const producerSequences = new Map<string, number>();

const besidesEvents = await countBesidesEvents(ledger);
const heartbeat = await countHeartbeat(ledger);
const run = await runningRun(ledger);
const streamedText: Record<string, Awaited<ReturnType<typeof countStream>>> = {};
for (const deltaBytes of DELTA_BYTES) {
  for (const [kind, text] of Object.entries({ words: wordsByFrequency, prose: ownDocumentation })) {
    const name = `${kind}, deltas of ${deltaBytes} bytes`;
    streamedText[name] = await countStream(run, deltaBytes, text(deltaBytes * 2_000));
  }
}
const report = {
  besidesEvents: { budget: BUDGET_BESIDES_EVENTS, ...besidesEvents },
  heartbeatPerMinute: heartbeat * 4,
  streamedText: { budgetPerKilobyte: BUDGET_PER_KILOBYTE, ...streamedText },
  transcripts: await countTranscripts(run),
};
console.log(JSON.stringify({ writeUnits: report }, null, 2));
await embedded.close();

const exceeded =
  besidesEvents.total > BUDGET_BESIDES_EVENTS ||
  Object.values(streamedText).some((stream) => stream.perKilobyte > BUDGET_PER_KILOBYTE);
process.exitCode = exceeded ? 1 : 0;

async function countBesidesEvents(on: RunLedger) {
  // Its timer is within a lease, as a submitted run's is.
  const head = queuedHead({ dueAt: at(45) });
  units.take();
  await on.createRun(creationOf(head, '0'.repeat(64)));
  const create = units.take();
  await on.claimForLaunch(claimOf(head));
  const claim = units.take();
  await on.recordTask(
    head,
    1,
    'arn:aws:ecs:eu-west-1:000000000000:task/nexusdesk/0123456789abcdef0123456789abcdef',
  );
  const recordTask = units.take();
  const hosted = await hostClaim(on, head);
  const claimByHost = units.take();
  await on.finishRun({
    head: hosted,
    ending: { status: 'completed', usage: completedResult().usage, result: completedResult() },
    events: [
      platformEvent('run.completed', { usage: completedResult().usage }, { timestamp: at(60) }),
    ],
    now: at(60),
  });
  const finish = units.take();
  const parts = { create, claim, recordTask, claimByHost, finish };
  return { ...parts, total: Object.values(parts).reduce((sum, part) => sum + part, 0) };
}

async function countHeartbeat(on: RunLedger): Promise<number> {
  const head = await runningRun(on);
  units.take();
  await on.renewLease(head, 1, at(60));
  return units.take();
}

async function runningRun(on: RunLedger): Promise<RunHead> {
  const head = queuedHead();
  await on.createRun(creationOf(head));
  await on.claimForLaunch(claimOf(head));
  return hostClaim(on, head);
}

async function hostClaim(on: RunLedger, head: RunHead): Promise<RunHead> {
  const hosted = await on.claimByHost({
    ref: head,
    epoch: 1,
    hostInstanceId: '0123456789abcdef0123456789abcdef',
    leaseExpiresAt: at(45),
    now: NOON,
  });
  if (hosted.outcome !== 'applied') throw new Error(hosted.outcome);
  return hosted.head;
}

async function countStream(head: RunHead, deltaBytes: number, text: string) {
  let rawBytes = 0;
  let time = Date.parse(NOON);
  let place = 0;
  const pages = Array.from({ length: PAGES }, () =>
    Array.from({ length: DELTAS_PER_PAGE }, () => {
      time += 12 + Math.floor(random() * 10);
      const part = text.slice(place, place + deltaBytes);
      place = (place + deltaBytes) % (text.length - deltaBytes);
      return platformEvent(
        'message.delta',
        { messageId: 'item_1', text: part },
        { timestamp: new Date(time).toISOString(), engineSessionId: SESSION },
      );
    }),
  );
  units.take();
  for (const events of pages) rawBytes += await append(head, events);
  const written = units.take();
  return {
    pages: PAGES,
    events: PAGES * DELTAS_PER_PAGE,
    writeUnits: written,
    perEvent: round(written / (PAGES * DELTAS_PER_PAGE)),
    perKilobyte: round(written / (rawBytes / 1024)),
  };
}

/** Every recorded transcript as one page of native events. */
async function countTranscripts(head: RunHead) {
  const folder = join(root, 'test/fixtures/engines/codex-exec');
  const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
  let rawBytes = 0;
  units.take();
  for (const file of files) {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean);
    rawBytes += await append(head, lines.flatMap(nativeEvent));
  }
  const written = units.take();
  return {
    pages: files.length,
    writeUnits: written,
    perPage: round(written / files.length),
    perKilobyte: round(written / (rawBytes / 1024)),
  };
}

function nativeEvent(line: string): NewEvent[] {
  try {
    const payload = JSON.parse(line) as NewEvent['payload'] & { type: string };
    return [
      {
        eventType: `codex.${payload.type}`,
        source: 'engine_native',
        family: 'execution',
        timestamp: NOON,
        engineSessionId: null,
        payload,
      },
    ];
  } catch {
    return []; // a transcript that was cut inside a line
  }
}

/** Appends one page; answers the bytes of its events as JSON. */
async function append(head: RunHead, events: readonly NewEvent[]): Promise<number> {
  if (events.length === 0) return 0;
  const appended = await ledger.appendPage({
    ref: head,
    epoch: 1,
    traceId: head.traceId,
    position: await ledger.logEnd(head),
    firstProducerSequence: 1 + (producerSequences.get(head.runId) ?? 0),
    events,
  });
  if (appended.outcome !== 'stored') throw new Error(appended.outcome);
  producerSequences.set(head.runId, appended.storedThrough);
  return Buffer.byteLength(JSON.stringify(events));
}

/** Words drawn by Zipf's law, in sentences: less to compress than real text, whose words follow from one another. */
function wordsByFrequency(bytes: number): string {
  const weights = ENGLISH_WORDS.map((_, rank) => 1 / (rank + 2.7));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let text = '';
  for (let word = 0; text.length < bytes; word += 1) {
    let left = random() * total;
    const index = weights.findIndex((weight) => {
      left -= weight;
      return left <= 0;
    });
    text += ENGLISH_WORDS[index] ?? '';
    text += word % 11 === 10 ? '. ' : ' ';
  }
  return text;
}

function ownDocumentation(): string {
  const files = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' });
  return files
    .filter((name) => name.endsWith('.md'))
    .toSorted()
    .map((name) => readFileSync(join(root, 'docs', name), 'utf8'))
    .join('\n');
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
