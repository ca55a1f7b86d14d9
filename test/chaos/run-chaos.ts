import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  busViolations,
  endingViolations,
  engineViolations,
  isForTheBus,
  logViolations,
  readStored,
  recoveryTimesMs,
  type StoredRun,
  tableViolations,
} from './audit.ts';
import { BusTap } from './bus-tap.ts';
import { type ClientCounts, Clients } from './clients.ts';
import { KILL_KINDS, type Kill, Killer, strikeThrough } from './killer.ts';
import { Load } from './load.ts';
import { killEverythingOf, processesOf } from './processes.ts';
import { planRuns } from './run-plan.ts';
import { SeededRandom } from './seeded-random.ts';
import { StackKeeper } from './stack-keeper.ts';
import { type TrackedRun, track } from './tracked-run.ts';
import { Witness } from './witness.ts';

export interface ChaosOptions {
  readonly seed: number;
  readonly runs: number;
  readonly kills: number;
  readonly tenants: number;
  /** Runs at once, over all tenants; the others wait in the queue. */
  readonly concurrency: number;
  /** Event streams open at one time. */
  readonly followers: number;
  /** New and empty; it belongs to the caller. */
  readonly dataDir: string;
  readonly log: (line: string) => void;
}

export interface ChaosResult {
  readonly violations: readonly string[];
  readonly kills: readonly Kill[];
  readonly stored: readonly StoredRun[];
  readonly clients: ClientCounts;
  readonly starts: readonly number[];
  readonly engines: number;
  readonly published: { readonly events: number; readonly copies: number };
  readonly wallMs: number;
}

/** Runs of one `stack_after_202`. */
const FRESH_RUNS = 2;
/** So long a kill waits for its share of the load, so that a load that stands still is hit, too. */
const LONGEST_PAUSE_MS = 8_000;
/** On a slow machine a stack that has just started gets some time to work. */
const PAUSE_IN_STARTS = 3;
/** From the last kill on; ten times what the slowest recovery may take. */
const FINISH_WITHIN_MS = 240_000;
const RECOVER_WITHIN_MS = 90_000;
const REST_WITHIN_MS = 60_000;
/** A refused claim of a run over its tenant's limit is repeated after this: often enough, and no load by itself. */
const QUOTA_WAIT_MS = 2_500;
const GRACE_MS = 1_000;

/** 200 runs, 50 kills, and what must hold all the same. Needs Linux and bash. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const startedAt = Date.now();
  const { log } = options;
  const random = new SeededRandom(options.seed);
  const witness = await Witness.open();
  const keeper = new StackKeeper(options.dataDir, {
    NEXUSDESK_TENANT_RUNS: String(Math.max(1, Math.ceil(options.concurrency / options.tenants))),
    NEXUSDESK_TIMING: JSON.stringify({ quotaWaitMs: QUOTA_WAIT_MS }),
    NEXUSDESK_GRACE_MS: String(GRACE_MS),
  });
  const stopped = new AbortController();
  try {
    await keeper.start();
    const kinds = random.deal(KILL_KINDS, options.kills);
    const tenants = Array.from({ length: options.tenants }, (_, n) => `chaos-${n}`);
    for (const tenant of tenants) await keeper.accessFor(tenant);
    const runs = planRuns({
      random,
      runs: options.runs,
      tenants,
      marks: witness.marks,
      keyPrefix: `chaos-${options.seed}`,
    }).map(track);
    const accessFor = (tenantId: string) => keeper.accessFor(tenantId);
    const clients = new Clients({ runs, accessFor, random, stopped: stopped.signal });
    const endpoint = awsEndpointOf(options.dataDir);
    const tap = await BusTap.open({ endpoint });
    const load = new Load({
      runs,
      clients,
      witness,
      random,
      followers: options.followers,
      heldBack: FRESH_RUNS * kinds.filter((kind) => kind === 'stack_after_202').length,
    });
    const background = [
      tap.read(stopped.signal),
      clients.poll(),
      clients.poll(),
      clients.repost(),
      clients.repost(),
    ];
    const killer = new Killer({
      keeper,
      random,
      log: (line) => log(`${share(load.endedShare)} ended · ${line}`),
      postHeldBack: () => load.postHeldBack(FRESH_RUNS),
      onVictim: (runId) => {
        for (const run of runs) if (run.runIds.has(runId)) run.hit = true;
      },
    });
    const posted = load.start();
    await strikeThrough({
      killer,
      random,
      kinds,
      progress: () => load.endedShare,
      longestPauseMs: () =>
        Math.max(LONGEST_PAUSE_MS, PAUSE_IN_STARTS * (keeper.startsMs.at(-1) ?? 0)),
    });
    log(`${share(load.endedShare)} ended · ${killer.kills.length} kills are done`);
    const violations: string[] = [];
    await within(
      FINISH_WITHIN_MS,
      posted.then(() => load.finish()),
    ).catch((error: unknown) => violations.push(`the load did not finish: ${String(error)}`));
    const stored = await readStored(runs, accessFor);
    log(`${stored.length} runs read; waiting for the bus and the last processes`);
    violations.push(...(await restViolations(options.dataDir, stored, tap, witness)));
    stopped.abort();
    await Promise.all(background);
    if (killer.kills.length < options.kills) {
      violations.push(`only ${killer.kills.length} kills: the load had ended before`);
    }
    violations.push(
      ...lateViolations(killer.kills, stored),
      ...clients.wrong,
      ...keyViolations(runs),
      ...stored.flatMap((each) => runViolations(each, witness, tap)),
      ...witness.overlaps.map(({ runId, attempts }) => `${runId}: engines at once: ${attempts}`),
      ...tap.changed.map((eventId) => `${eventId} was published with two contents`),
      ...(await tableViolations(endpoint, stored.length)),
    );
    const exitCode = await keeper.stop();
    if (exitCode !== 0) violations.push(`the stack ended with ${exitCode}`);
    const result: ChaosResult = {
      violations,
      kills: killer.kills,
      stored,
      clients: clients.counts,
      starts: keeper.startsMs,
      engines: witness.lives.length,
      published: {
        events: tap.publications.size,
        copies: [...tap.publications.values()].reduce((sum, { copies }) => sum + copies, 0),
      },
      wallMs: Date.now() - startedAt,
    };
    keepForInspection(options.dataDir, result, witness);
    return result;
  } finally {
    stopped.abort();
    await keeper.kill();
    killEverythingOf(options.dataDir);
    await witness.close();
  }
}

const share = (part: number) => `${String(Math.round(part * 100)).padStart(3)} %`;

function runViolations(stored: StoredRun, witness: Witness, tap: BusTap): string[] {
  return [
    ...logViolations(stored),
    ...endingViolations(stored, witness),
    ...engineViolations(stored, witness),
    ...busViolations(stored, tap),
  ].map((what) => `${stored.view.runId} (${stored.run.plan.key}): ${what}`);
}

/** Whatever dies, its run is queued again or has ended within this. */
function lateViolations(kills: readonly Kill[], stored: readonly StoredRun[]): string[] {
  const late = recoveryTimesMs(kills, stored).filter((ms) => ms > RECOVER_WITHIN_MS);
  return late.map((ms) => `a run stood still for ${ms / 1_000} s after a death`);
}

/** ORC-1: each key has one run, and was answered with nothing else. */
function keyViolations(runs: readonly TrackedRun[]): string[] {
  return runs.flatMap(({ plan, runIds }) => {
    if (runIds.size === 1) return [];
    return [`${plan.key} was answered with ${runIds.size} runs: ${[...runIds].join(' ')}`];
  });
}

/** What has to come to rest by itself: the outbox has published everything, and no process of a run is left. */
async function restViolations(
  dataDir: string,
  stored: readonly StoredRun[],
  tap: BusTap,
  witness: Witness,
): Promise<string[]> {
  const expected = stored.flatMap(({ events }) => events.filter(isForTheBus));
  const published = () => expected.every(({ eventId }) => tap.publications.has(eventId));
  const left = () => processesOf(dataDir);
  const until = Date.now() + REST_WITHIN_MS;
  while (Date.now() < until && !(published() && left().length === 0)) await delay(250);
  return [
    ...left().map(({ pid, command }) => `process ${pid} is still there: ${command}`),
    ...witness.alive().map(({ runId, attempt }) => `${runId}: engine of attempt ${attempt} lives`),
  ];
}

/** Ports stay over restarts. */
function awsEndpointOf(dataDir: string): string {
  const { aws } = JSON.parse(readFileSync(join(dataDir, 'ports.json'), 'utf8')) as { aws: number };
  return `http://127.0.0.1:${aws}`;
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  const timeout = new AbortController();
  const late = delay(ms, undefined, { signal: timeout.signal }).then(() => {
    throw new Error(`not within ${ms / 1_000} s`);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    timeout.abort();
    late.catch(() => undefined);
  }
}

function keepForInspection(dataDir: string, result: ChaosResult, witness: Witness): void {
  const { violations, kills, stored } = result;
  const runs = stored.map(({ run, view, events }) => ({
    runId: view.runId,
    plan: run.plan,
    hit: run.hit,
    statuses: run.statuses,
    view,
    engines: witness.livesOf(view.runId),
    events: events.map(({ sequence, eventType, timestamp }) => [sequence, eventType, timestamp]),
  }));
  writeFileSync(
    join(dataDir, 'chaos-report.json'),
    JSON.stringify({ violations, kills, runs }, undefined, 1),
  );
}
