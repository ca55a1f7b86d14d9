/**
 * Streams under load, on the local stack in a child process: what it costs to fan one live run out to many clients, and
 * what an idle client takes of the server's memory. Rates are of this machine; what counts is how they change with the
 * number of clients, measured in the same call. One client gets a live run as fast as its host tells it: `fanOut` is how
 * many times as many events all clients together get.
 *
 *     node bench/sse/main.ts [--clients 50,500] [--json]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { NexusDeskClient } from '#client/nexusdesk-client.ts';
import type { CreateRunRequest } from '#shared/contracts/index.ts';
import { followRun } from './event-counter.ts';

const { values: options } = parseArgs({
  options: {
    clients: { type: 'string', default: '50,500' },
    json: { type: 'boolean', default: false },
  },
});
const MESSAGES = 5;
const DELTAS = 100;
const DELTA_BYTES = 40;
const WARM_UP = 20;
/** Until all clients are connected; who is later reads the beginning from the log. */
const HEAD_START_MS = 3_000;

const PROJECT = resolve(import.meta.dirname, '../..');
// Below the project, as a developer's own is.
const parent = join(PROJECT, '.nexusdesk');
mkdirSync(parent, { recursive: true, mode: 0o711 });
const dataDir = mkdtempSync(join(parent, 'bench-sse-'));
const server = fork(join(import.meta.dirname, 'stack-child.ts'), [dataDir], {
  execArgv: ['--expose-gc'],
  cwd: PROJECT,
});
const exited = once(server, 'exit');
try {
  const [{ url, token }] = (await once(server, 'message')) as [{ url: string; token: string }];
  const client = new NexusDeskClient({ baseUrl: url, token });
  const bench = { url, token, client, agent: new Agent({ maxSockets: Number.POSITIVE_INFINITY }) };
  const counts = options.clients.split(',').map(Number);
  // Largest first, and before anything else: memory that was taken once is used again.
  const idle = [];
  for (const clients of counts.toSorted((a, b) => b - a)) {
    idle.push(await measureIdle(bench, clients));
  }
  const alone = await measureFanOut(bench, 1);
  const fanOut = [];
  for (const clients of [1, ...counts]) {
    const one = clients === 1 ? alone : await measureFanOut(bench, clients);
    fanOut.push({ ...one, fanOut: rounded(one.deliveredPerSecond / alone.deliveredPerSecond) });
  }
  if (options.json) console.log(JSON.stringify({ fanOut, idle }, null, 2));
  else {
    console.table(fanOut);
    console.table(idle);
  }
  server.send('stop');
  await exited;
} finally {
  server.kill('SIGKILL');
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
}

interface Bench {
  readonly url: string;
  readonly token: string;
  readonly client: NexusDeskClient;
  readonly agent: Agent;
}

/** All clients follow one run from before its burst of events to its end. */
async function measureFanOut(bench: Bench, clients: number) {
  const text = 'x'.repeat(DELTAS * DELTA_BYTES);
  const runId = await startRun(bench.client, [
    { wait: HEAD_START_MS },
    ...Array.from({ length: MESSAGES }, () => ({ say: text, deltas: DELTAS })),
  ]);
  const followers = connect(bench, runId, clients);
  const followed = await Promise.all(followers.map(({ ended }) => ended));
  const stored = await bench.client.listEvents(runId, { limit: 1 });
  const events = followed[0]?.events ?? 0;
  if (stored.events.length !== 1 || followed.some((one) => one.events !== events)) {
    throw new Error('a client did not get what the others got');
  }
  const seconds =
    (Math.max(...followed.map(({ lastAt }) => lastAt)) -
      Math.min(...followed.map(({ firstAt }) => firstAt))) /
    1000;
  const delivered = followed.reduce((sum, { burst }) => sum + burst, 0);
  return {
    clients,
    eventsEach: events,
    seconds: rounded(seconds),
    deliveredPerSecond: Math.round(delivered / seconds),
  };
}

/** What the server uses more with so many clients on a run that says nothing, for each of them. */
async function measureIdle(bench: Bench, clients: number) {
  const runId = await startRun(bench.client, [{ say: 'quiet from here on' }, { wait: 'forever' }]);
  // What the first of many makes the server load is not theirs.
  const few = connect(bench, runId, WARM_UP);
  await Promise.all(few.map(({ opened }) => opened));
  const before = await memory();
  const followers = connect(bench, runId, clients);
  await Promise.all(followers.map(({ opened }) => opened));
  const during = await memory();
  for (const follower of [...few, ...followers]) follower.leave();
  await bench.client.cancelRun(runId);
  await bench.client.waitForRun(runId);
  const kilobytes = (bytes: number) => rounded(bytes / clients / 1024);
  return {
    clients,
    inUseKilobytesEach: kilobytes(during.inUse - before.inUse),
    rssKilobytesEach: kilobytes(during.rss - before.rss),
  };
}

function connect({ url, token, agent }: Bench, runId: string, clients: number) {
  const stream = `${url}/v1/runs/${runId}/stream`;
  return Array.from({ length: clients }, () => followRun(stream, token, agent));
}

async function startRun(client: NexusDeskClient, script: object[]): Promise<string> {
  const config = { script } as CreateRunRequest['config'] & {};
  const run = { engine: { id: 'local_test' }, input: { prompt: 'bench' }, config };
  return (await client.createRun(run)).executionId;
}

async function memory(): Promise<{ rss: number; inUse: number }> {
  server.send('memory');
  const [answer] = (await once(server, 'message')) as [{ rss: number; inUse: number }];
  return answer;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
