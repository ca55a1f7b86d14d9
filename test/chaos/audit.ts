import { DynamoDBClient, paginateScan } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { NexusDeskClient } from '#client/nexusdesk-client.ts';
import {
  type AgentEvent,
  isFinalEventType,
  isTerminal,
  type RunView,
  type TerminalStatus,
} from '#shared/contracts/index.ts';
import { awsClientSettings, type BusTap } from './bus-tap.ts';
import type { Kill } from './killer.ts';
import type { Access } from './stack-keeper.ts';
import { runIdOf, type TrackedRun } from './tracked-run.ts';
import type { EngineLife, Witness } from './witness.ts';

/** A run as the platform keeps it, read after everything has come to rest. */
export interface StoredRun {
  readonly run: TrackedRun;
  readonly view: RunView;
  readonly events: readonly AgentEvent[];
}

export async function readStored(
  runs: readonly TrackedRun[],
  accessFor: (tenantId: string) => Promise<Access>,
): Promise<StoredRun[]> {
  const stored: StoredRun[] = [];
  for (const run of runs) {
    const runId = runIdOf(run);
    if (!runId) continue;
    const { client } = await accessFor(run.plan.tenantId);
    stored.push({ run, view: await client.getRun(runId), events: await readLog(client, runId) });
  }
  return stored;
}

async function readLog(client: NexusDeskClient, runId: string): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await client.listEvents(runId, { cursor, limit: 1_000 });
    events.push(...page.events);
    if (page.complete || page.events.length === 0) return events;
    cursor = page.nextCursor;
  }
}

/** One ending, last; dense sequence; nothing beside it in what the followers saw. */
export function logViolations({ run, view, events }: StoredRun): string[] {
  const wrong: string[] = [];
  const sequences = events.map(({ sequence }) => sequence);
  if (sequences.some((sequence, index) => sequence !== index + 1)) {
    wrong.push(`its log is not dense: ${sequences.join(' ')}`);
  }
  if (events[0]?.eventType !== 'run.queued') wrong.push('its log does not begin with run.queued');
  const finals = events.filter(({ eventType }) => isFinalEventType(eventType));
  if (finals.length !== 1) wrong.push(`it has ${finals.length} final events`);
  if (finals[0] !== events.at(-1)) wrong.push('something follows its final event');
  if (finals[0]?.eventType !== `run.${view.status}`) {
    wrong.push(`its final event is ${finals[0]?.eventType}, its status ${view.status}`);
  }
  if (JSON.stringify(run.followed) !== JSON.stringify(events)) {
    wrong.push(
      `the followers saw ${run.followed.length} events, ${events.length} are stored, or they differ`,
    );
  }
  return wrong;
}

/** How it ended, and that nobody saw it end otherwise. */
export function endingViolations({ run, view }: StoredRun, witness: Witness): string[] {
  const { repeatable, kind } = run.plan;
  const expected = expectedEnding(run, witness.livesOf(view.runId));
  const wrong: string[] = [];
  if (!isTerminal(view.status)) wrong.push(`it has not ended: ${view.status}`);
  const mayFail = run.hit && !repeatable;
  const fits = view.status === expected || (mayFail && view.status === 'failed');
  if (!fits) {
    const why = view.error ? `${view.error.code}: ${view.error.message}` : 'no error';
    wrong.push(`${kind}, ${run.hit ? 'hit' : 'not hit'}, ended ${view.status} (${why})`);
  }
  const ended = run.statuses.findIndex((status) => isTerminal(status));
  const after = ended < 0 ? [] : run.statuses.slice(ended);
  if (after.some((status) => status !== view.status)) {
    wrong.push(`pollers saw ${run.statuses.join(' → ')}, it is ${view.status}`);
  }
  return wrong;
}

/**
 * A script that crashes in its first attempt gets to its end in a later one. A run that may not be repeated has a later
 * one only when nothing ran in the first: its host was killed before there was an engine.
 */
function expectedEnding({ plan, hit }: TrackedRun, lives: readonly EngineLife[]): TerminalStatus {
  const firstEngine = lives[0]?.attempt ?? 1;
  return plan.kind === 'crashing_once' && hit && firstEngine > 1 ? 'completed' : plan.expected;
}

/** What really happened to its engines, seen from outside. */
export function engineViolations({ run, view }: StoredRun, witness: Witness): string[] {
  const wrong: string[] = [];
  const lives = witness.livesOf(view.runId);
  const attempts = lives.map(({ attempt }) => attempt);
  if (new Set(attempts).size < attempts.length) {
    wrong.push(`an attempt had two engines: ${attempts.join(' ')}`);
  }
  if (!run.plan.repeatable && lives.length > 1) {
    wrong.push(`it may not be repeated and had ${lives.length} engines`);
  }
  if (lives.length > 0 && Math.max(...attempts) > view.attempt) {
    wrong.push(`an engine of attempt ${Math.max(...attempts)}, the run has had ${view.attempt}`);
  }
  if (view.status === 'completed') {
    const last = lives.find(({ attempt }) => attempt === view.attempt);
    if (!last?.reachedEnd) wrong.push('it completed, but the script of its last attempt did not');
  }
  return wrong;
}

/** Every stored event that is meant for the bus was there, as it is stored. */
export function busViolations({ events }: StoredRun, tap: BusTap): string[] {
  const missing = events
    .filter(isForTheBus)
    .filter(({ eventId }) => !tap.publications.has(eventId));
  const wrong = missing.map(
    ({ eventId, eventType }) => `${eventType} ${eventId} was not published`,
  );
  for (const event of events) {
    const published = tap.publications.get(event.eventId);
    if (published && published.eventType !== event.eventType) {
      wrong.push(
        `${event.eventId} was published as ${published.eventType}, it is ${event.eventType}`,
      );
    }
  }
  return wrong;
}

export function isForTheBus({ source, family }: AgentEvent): boolean {
  return source === 'platform' && family !== 'presentation';
}

/** The table itself: as many runs as keys, no slot still taken, no timer left. */
export async function tableViolations(endpoint: string, accepted: number): Promise<string[]> {
  const client = new DynamoDBClient(awsClientSettings(endpoint));
  const wrong: string[] = [];
  let heads = 0;
  for await (const { Items = [] } of paginateScan({ client }, { TableName: 'nexusdesk' })) {
    for (const item of Items.map((each) => unmarshall(each))) {
      if (item.sk === 'HEAD') {
        heads += 1;
        if (item.dueAt) wrong.push(`${item.pk} has ended and still has a timer`);
      }
      if (typeof item.live === 'number' && item.live !== 0) {
        wrong.push(`${item.pk} ${item.sk}: ${item.live} slots are still taken`);
      }
    }
  }
  if (heads !== accepted) wrong.push(`${accepted} runs were accepted, ${heads} are stored`);
  return wrong;
}

/** How long each run stood still after something of it was killed: until it was queued again, or had ended. */
export function recoveryTimesMs(kills: readonly Kill[], stored: readonly StoredRun[]): number[] {
  return kills.flatMap(({ at, deaths }) =>
    deaths.flatMap((runId) => {
      const events = stored.find(({ view }) => view.runId === runId)?.events ?? [];
      const next = events.find(
        ({ eventType, timestamp }) =>
          (eventType === 'run.requeued' || isFinalEventType(eventType)) &&
          Date.parse(timestamp) >= at,
      );
      // It had ended when the signal came.
      return next ? [Date.parse(next.timestamp) - at] : [];
    }),
  );
}
