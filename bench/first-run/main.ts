/**
 * The first run, beside other platforms: how fast a run is accepted, how soon it shows life, how fast its events reach
 * a client, what is kept of it. One table; figures are ratios of medians measured in the same call, round by round.
 *
 *     node bench/first-run/main.ts [--rounds 5] [--stored 10000] [--write docs/benchmarks.md]
 *
 * Installs the peers below `.nexusdesk/bench-peers` at its first use; needs Linux, root and PostgreSQL 15 of Debian.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { send } from './http.ts';
import { LangGraph } from './langgraph.ts';
import { NexusDesk } from './nexusdesk.ts';
import { startFacade, startPostgres } from './peers.ts';
import { type Row, renderTable, row } from './report.ts';
import { SandboxAgent } from './sandbox-agent.ts';
import { load, median } from './statistics.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    stored: { type: 'string', default: '10000' },
    write: { type: 'string' },
  },
});
const ROUNDS = Number(options.rounds);
const STORED = Number(options.stored);
const EVENTS = 10_000;
const KILLED_AFTER = 50;

const scratchParent = resolve('.nexusdesk');
mkdirSync(scratchParent, { recursive: true, mode: 0o711 });
const scratch = mkdtempSync(join(scratchParent, 'bench-'));
const note = (text: string) => process.stderr.write(`${text}\n`);

interface Round {
  readonly deskAcceptMs: number;
  readonly deskPerSecond: number;
  readonly dbosAcceptMs: number;
  readonly pgBossAcceptMs: number;
  readonly graphPerSecond: number;
  readonly deskHostMs: number;
  readonly deskEngineMs: number;
  readonly agentMs: number;
  readonly deskLive: number;
  readonly graphLive: number;
  readonly deskReplay: number;
  readonly deskReplayRestarted: number;
  readonly graphReplay: number;
}

async function measureRound(number: number): Promise<Round> {
  const library = await measureLibraries();
  const graph = await measureLangGraph();
  const agentMs = await measureSandboxAgent();
  const desk = await measureDesk(join(scratch, `round-${number}`));
  const round = { ...library, ...graph, ...desk, agentMs };
  note(`round ${number}: ${JSON.stringify(round)}`);
  return round;
}

async function measureLibraries() {
  const acceptMs: number[] = [];
  for (const [name, port] of [
    ['dbos', 24_870],
    ['pg-boss', 24_810],
  ] as const) {
    const postgres = await startPostgres(port + 1);
    const server = await startFacade(name, port, postgres.url);
    const body = { prompt: 'p'.repeat(600) };
    const accept = () => send({ url: `http://127.0.0.1:${port}/runs`, body });
    await load(100, 4, accept);
    acceptMs.push((await load(200, 1, accept)).p50Ms);
    await server.kill();
    await postgres.stop();
  }
  const [dbosAcceptMs = Number.NaN, pgBossAcceptMs = Number.NaN] = acceptMs;
  return { dbosAcceptMs, pgBossAcceptMs };
}

async function measureLangGraph() {
  const graph = await LangGraph.start();
  await load(50, 4, () => graph.accept());
  const accepted = await load(480, 16, () => graph.accept());
  await graph.streamRun(50);
  const live = await graph.streamRun(EVENTS);
  const replay = await graph.replay(live.run);
  await graph.kill();
  return {
    graphPerSecond: accepted.perSecond,
    graphLive: live.eventsPerSecond,
    graphReplay: replay.eventsPerSecond,
  };
}

async function measureSandboxAgent(): Promise<number> {
  const agent = await SandboxAgent.start();
  await agent.createToFirstEvent();
  const times: number[] = [];
  for (let i = 0; i < 9; i += 1) times.push(await agent.createToFirstEvent());
  await agent.kill();
  return median(times);
}

async function measureDesk(dataDir: string) {
  const busy = await NexusDesk.start(`${dataDir}-accept`, { onlyAccept: true });
  await load(100, 4, () => busy.accept());
  const alone = await load(200, 1, () => busy.accept());
  const many = await load(480, 16, () => busy.accept());
  await busy.kill();

  let desk = await NexusDesk.start(dataDir);
  await desk.createToFirstEvents();
  const firsts = [];
  for (let i = 0; i < 9; i += 1) firsts.push(await desk.createToFirstEvents());
  const live = await desk.streamRun(EVENTS);
  if (live.events !== EVENTS) throw new Error(`${live.events} of ${EVENTS} events came`);
  const replay = await desk.replay(live.run);
  await desk.kill();
  desk = await NexusDesk.start(dataDir);
  const again = await desk.replay(live.run);
  if (again.events !== EVENTS) throw new Error(`${again.events} events after the restart`);
  await desk.kill();
  return {
    deskAcceptMs: alone.p50Ms,
    deskPerSecond: many.perSecond,
    deskHostMs: median(firsts.map(({ hostMs }) => hostMs)),
    deskEngineMs: median(firsts.map(({ engineMs }) => engineMs)),
    deskLive: live.eventsPerSecond,
    deskReplay: replay.eventsPerSecond,
    deskReplayRestarted: again.eventsPerSecond,
  };
}

interface Storage {
  /** p50 of an accept with all runs stored, as a multiple of that with none. */
  readonly growth: number;
  readonly kibPerRun: number;
  readonly lost: number;
}

type Accepting = Pick<NexusDesk | LangGraph, 'accept' | 'knows' | 'kill' | 'residentKib'>;

/** Fills a server with runs, then kills it right after some more were accepted, and starts it again. */
async function measureStorage(start: (again: boolean) => Promise<Accepting>): Promise<Storage> {
  let server = await start(false);
  await load(300, 4, () => server.accept());
  const empty = await load(100, 1, () => server.accept());
  const emptyKib = server.residentKib();
  await load(STORED, 16, () => server.accept());
  const kib = server.residentKib();
  const full = await load(60, 1, () => server.accept());
  const accepted: string[] = [];
  await load(KILLED_AFTER, 8, async () => accepted.push(await server.accept()));
  await server.kill();
  server = await start(true);
  const known = await Promise.all(accepted.map((run) => server.knows(run)));
  await server.kill();
  return {
    growth: full.p50Ms / empty.p50Ms,
    kibPerRun: (kib - emptyKib) / STORED,
    lost: known.filter((isKnown) => !isKnown).length,
  };
}

const rounds: Round[] = [];
for (let number = 1; number <= ROUNDS; number += 1) rounds.push(await measureRound(number));
note(`storage: ${STORED} runs each`);
const deskStorage = await measureStorage(() =>
  NexusDesk.start(join(scratch, 'storage'), { onlyAccept: true }),
);
note(JSON.stringify(deskStorage));
const graphStorage = await measureStorage((keepData) => LangGraph.start({ keepData }));
note(JSON.stringify(graphStorage));
rmSync(scratch, { recursive: true, force: true });

const of = (pick: (round: Round) => number) => rounds.map(pick);
const rows: Row[] = [
  row(
    'durable accept, 1 client, p50 (ms)',
    'DBOS',
    of((r) => r.deskAcceptMs),
    of((r) => r.dbosAcceptMs),
    '≤',
    1,
  ),
  row(
    'durable accept, 1 client, p50 (ms)',
    'pg-boss',
    of((r) => r.deskAcceptMs),
    of((r) => r.pgBossAcceptMs),
    '≤',
    1,
  ),
  row(
    'accepts per second, 16 clients',
    'LangGraph',
    of((r) => r.deskPerSecond),
    of((r) => r.graphPerSecond),
    '≥',
    1,
  ),
  row(
    'create → first event of a fresh host (ms)',
    'sandbox-agent',
    of((r) => r.deskHostMs),
    of((r) => r.agentMs),
    '≤',
    1.3,
  ),
  row(
    'create → first event of a fresh engine in it (ms)',
    'sandbox-agent',
    of((r) => r.deskEngineMs),
    of((r) => r.agentMs),
    '≤',
    1.3,
  ),
  row(
    'events per second of one run, live',
    'LangGraph',
    of((r) => r.deskLive),
    of((r) => r.graphLive),
    '≥',
    3,
  ),
  row(
    'events per second, replay',
    'LangGraph',
    of((r) => r.deskReplay),
    of((r) => r.graphReplay),
    '≥',
    3,
  ),
  row(
    'events per second, replay after a restart',
    'LangGraph',
    of((r) => r.deskReplayRestarted),
    of((r) => r.graphReplay),
    '≥',
    3,
  ),
  row(
    `accept p50 with ${STORED} runs stored ÷ with none`,
    'LangGraph',
    [deskStorage.growth],
    [graphStorage.growth],
    '≤',
    1,
  ),
  row(
    'server memory per stored run (KiB)',
    'LangGraph',
    [deskStorage.kibPerRun],
    [graphStorage.kibPerRun],
    '≤',
    1,
  ),
  row(
    `runs lost of ${KILLED_AFTER} accepted right before SIGKILL`,
    'LangGraph',
    [deskStorage.lost],
    [graphStorage.lost],
    '≤',
    1,
  ),
];
const table = renderTable(rows, ROUNDS);
process.stdout.write(`${table}\n`);
if (options.write) writeFileSync(options.write, `${table}\n`);
