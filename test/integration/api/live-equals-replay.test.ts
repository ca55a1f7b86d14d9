import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import type { AgentEvent } from '#shared/contracts/index.ts';
import { type ApiBench, openApiBench } from '#test/support/api-bench.ts';
import { type LiveRun, startLiveRun } from '#test/support/live-run.ts';
import { seededRandom } from '#test/support/random.ts';
import { noticeEvent } from '#test/support/run-builders.ts';
import { openRaw } from './raw-stream.ts';

const SEED = 20_261_130;
const EVENTS = 2_400;
const DISTURBED_READERS = 12;
const SLOW_READERS = 4;
const CLIENTS = 4;

let bench: ApiBench;
afterEach(() => bench.close());

/** Tells all who wait that something has happened. */
class News {
  #next = Promise.withResolvers<void>();
  get next(): Promise<void> {
    return this.#next.promise;
  }
  tell(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers<void>();
  }
}

/** Pages of 1 to 30 events, as a host would flush them, some of them long. */
async function tell(run: LiveRun, random: () => number, stored: News) {
  for (let told = 0; told < EVENTS; ) {
    const count = Math.min(EVENTS - told, 1 + Math.floor(random() * 30));
    const events = Array.from({ length: count }, (_, index) => {
      const length = random() < 0.01 ? 20_000 : Math.floor(random() * 200);
      return noticeEvent(`${told + index} ${'☕'.repeat(length / 3)}`);
    });
    await run.append(...events);
    told += count;
    stored.tell();
  }
  await run.end();
  stored.tell();
}

/** Cuts its connection after a random number of events or in the middle of one, and resumes by the last id it has. */
async function readDisturbed(run: LiveRun, random: () => number) {
  const events: AgentEvent[] = [];
  let lastEventId: string | undefined;
  let connections = 0;
  for (;;) {
    connections += 1;
    const token = await bench.tokenFor('acme');
    const stream = await openRaw({
      url: bench.url,
      token,
      runId: run.head.runId,
      lastEventId,
    });
    const patience = Math.floor(random() * 400_000);
    const isCut = await stream.until(() => stream.text().length > patience);
    if (isCut) stream.leave();
    const how = await stream.ended;
    // Nothing is dropped and nothing is sorted here: whatever the server sent counts.
    events.push(...stream.events);
    lastEventId = stream.messages.at(-1)?.id ?? lastEventId;
    if (how === 'end' && !isCut) return { events, connections };
  }
}

/** Reads a little, then nothing for a while, on one connection. */
async function readSlowly(run: LiveRun, random: () => number) {
  const { runId } = run.head;
  const stream = await openRaw({ url: bench.url, token: await bench.tokenFor('acme'), runId });
  stream.response.on('data', async () => {
    stream.response.pause();
    for (let turn = random() * 40; turn > 0; turn -= 1) await nextTurn();
    stream.response.resume();
  });
  expect(await stream.ended).toBe('end');
  return stream.events;
}

async function readAsClient(run: LiveRun, random: () => number) {
  const client = await bench.apiClient('acme', {
    random: () => 0,
    // Breaks bodies off after a random number of bytes.
    fetch: async (...request) => {
      const response = await fetch(...request);
      if (!response.body || !response.ok) return response;
      let left = Math.floor(random() * 300_000);
      const cutting = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          left -= chunk.byteLength;
          if (left < 0) controller.error(new Error('cut by the test'));
          else controller.enqueue(chunk);
        },
      });
      const isStream = response.headers.get('content-type') === 'text/event-stream';
      return isStream ? new Response(response.body.pipeThrough(cutting), response) : response;
    },
  });
  const events: AgentEvent[] = [];
  for await (const event of client.streamEvents(run.head.runId)) events.push(event);
  return events;
}

/** Page by page; at the end of the log it waits until `stored` says that there is more. */
async function readPages(run: LiveRun, limit: number, stored = new News()): Promise<AgentEvent[]> {
  const client = await bench.apiClient();
  const events: AgentEvent[] = [];
  let cursor: string | undefined;
  for (;;) {
    const more = stored.next;
    const page = await client.listEvents(run.head.runId, { cursor, limit });
    if (page.events.length === 0 && !page.complete) await more;
    events.push(...page.events);
    cursor = page.nextCursor;
    if (page.complete) return events;
  }
}

/** A line for each event: two long lists are compared in no time, and differ in a readable way. */
const textOf = (events: readonly AgentEvent[]) =>
  events.map((one) => JSON.stringify(one)).join('\n');

it(`TRM-7 every reader of a live run gets exactly the stored log, in its order (seed ${SEED})`, async () => {
  bench = await openApiBench();
  const run = await startLiveRun(bench);
  const stored = new News();
  const random = (nth: number) => seededRandom(SEED + nth);
  const many = <T>(count: number, read: (nth: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, nth) => read(nth)));
  const [, disturbed, slow, clients, paging] = await Promise.all([
    tell(run, random(0), stored),
    many(DISTURBED_READERS, (nth) => readDisturbed(run, random(100 + nth))),
    many(SLOW_READERS, (nth) => readSlowly(run, random(200 + nth))),
    many(CLIENTS, (nth) => readAsClient(run, random(300 + nth))),
    readPages(run, 37, stored),
  ]);

  const log = await readPages(run, 1_000);
  expect(log.length).toBeGreaterThan(EVENTS);
  expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
  expect(log.at(-1)?.eventType).toBe('run.completed');
  const text = textOf(log);
  for (const events of [...disturbed.map((one) => one.events), ...slow, ...clients, paging]) {
    expect(textOf(events)).toBe(text);
  }
  // The test would prove little if nobody had been cut off.
  const connections = disturbed.reduce((sum, one) => sum + one.connections, 0);
  expect(connections).toBeGreaterThan(DISTURBED_READERS * 3);
  // Long after the end, from any place.
  const late = await readDisturbed(run, random(400));
  expect(textOf(late.events)).toBe(text);
}, 180_000);
