import type { AgentEvent, Usage } from '#shared/contracts/index.ts';
import { isTerminal } from '#shared/contracts/index.ts';
import type { Reading } from '../actors/reader.ts';
import type { Publication } from '../world/bus.ts';
import type { SimulatedTask } from '../world/task-record.ts';
import { shortName } from '../world/tasks.ts';
import type { HostWatch } from './host-watch.ts';
import type { LedgerWatch } from './ledger-watch.ts';
import type { RunRecord } from './run-record.ts';
import { Violation } from './violation.ts';

export interface Remains {
  readonly ledger: LedgerWatch;
  readonly hosts: HostWatch;
  readonly publications: readonly Publication[];
  readonly readings: readonly Reading[];
  readonly tasks: readonly SimulatedTask[];
  /** Run ids that clients hold a 202 for. */
  readonly accepted: ReadonlySet<string>;
  readonly cancelled: ReadonlySet<string>;
}

/** What must be true once everything has come to rest. */
export function checkRemains(remains: Remains): void {
  const runs = [...remains.ledger.runs.values()].filter(({ status }) => status !== undefined);
  for (const runId of remains.accepted) {
    if (!remains.ledger.runOf(runId)?.status) {
      throw new Violation('nothing-lost', `${runId} was accepted and is not there`);
    }
  }
  for (const runId of remains.cancelled) {
    if (remains.ledger.runOf(runId)?.status === 'completed') {
      throw new Violation('cancel-kept', `${runId} completed after its cancel was accepted`);
    }
  }
  for (const run of runs) {
    if (!run.status || !isTerminal(run.status)) {
      throw new Violation('ends-in-time', `${run.runId} is still ${run.status}`);
    }
    checkUsage(run, remains.hosts);
  }
  for (const { tenantId, live } of remains.ledger.counters) {
    if (live !== 0) throw new Violation('quota-counted', `${tenantId} has ${live} left`);
  }
  checkTotals(remains.ledger, runs);
  checkTasks(remains);
  checkBus(remains.ledger, remains.publications);
  for (const reading of remains.readings)
    checkReading(remains.ledger.runOf(reading.runId), reading);
}

function checkUsage(run: RunRecord, hosts: HostWatch): void {
  let sum: Usage = {};
  for (const [epoch, { usage }] of run.epochs) {
    if (!usage) continue;
    const results = hosts.engines.filter(
      (life) => life.runId === run.runId && life.epoch === epoch,
    );
    const known = results.map(({ result }) => result?.usage).filter((one) => one !== undefined);
    if (!isEmpty(usage) && !known.some((one) => same(one, usage))) {
      throw new Violation(
        'usage-summed',
        `${run.runId}: epoch ${epoch} has ${JSON.stringify(usage)}, no host said so`,
      );
    }
    sum = add(sum, usage);
  }
  for (const { runId, epoch, host } of hosts.reported) {
    if (runId !== run.runId) continue;
    const said = hosts.engines.find((life) => life.host === host)?.result?.usage ?? {};
    if (!same(run.epochs.get(epoch)?.usage ?? {}, said)) {
      throw new Violation('usage-summed', `${runId}: what ${host} reported is not counted`);
    }
  }
  if (!same(sum, run.usage)) {
    throw new Violation(
      'usage-summed',
      `${run.runId}: ${JSON.stringify(run.usage)}, attempts ${JSON.stringify(sum)}`,
    );
  }
}

/** What the consumer of the stream added up is what the logs say. */
function checkTotals(ledger: LedgerWatch, runs: readonly RunRecord[]): void {
  const ends = runs.flatMap(({ epochs }) =>
    [...epochs.values()].flatMap(({ usage }) => usage ?? []),
  );
  const days = [...ledger.days.values()];
  const total = (of: (day: (typeof days)[number]) => number) =>
    days.reduce((sum, day) => sum + of(day), 0);
  const counted = {
    attempts: total((day) => day.attempts),
    tokens: total((day) => day.inputTokens),
  };
  const stored = {
    attempts: ends.length,
    tokens: ends.reduce((sum, { inputTokens = 0 }) => sum + inputTokens, 0),
  };
  if (!same(counted, stored)) {
    throw new Violation(
      'usage-summed',
      `totals are ${JSON.stringify(counted)}, the logs say ${JSON.stringify(stored)}`,
    );
  }
}

function add(a: Usage, b: Usage): Usage {
  const sum: Record<string, number> = { ...a };
  for (const [name, value] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + value;
  return sum;
}

function isEmpty(usage: Usage): boolean {
  return Object.keys(usage).length === 0;
}

function same(a: object, b: object): boolean {
  const sorted = (value: object) => JSON.stringify(Object.entries(value).sort());
  return sorted(a) === sorted(b);
}

function checkTasks({ tasks, hosts }: Remains): void {
  for (const task of tasks) {
    if (task.status !== 'STOPPED' && task.status !== 'DEPROVISIONING') {
      throw new Violation(
        'no-orphans',
        `${shortName(task)} of ${task.startedBy} is ${task.status}`,
      );
    }
  }
  const [host] = hosts.living;
  if (host) throw new Violation('no-orphans', `${host} goes on`);
}

/**
 * The bus takes entries one by one: of a call it may refuse one and take those behind it. What is behind is then sent
 * again, so whoever waits for the next event of a run gets all of them in order.
 */
function checkBus(ledger: LedgerWatch, publications: readonly Publication[]): void {
  const published = new Map<string, BusEvent[]>();
  for (const { detail } of publications) {
    const event = JSON.parse(detail) as BusEvent;
    const ofRun = published.get(event.executionId) ?? [];
    ofRun.push(event);
    published.set(event.executionId, ofRun);
  }
  for (const run of ledger.runs.values()) {
    const events = run.events.filter(isPublic);
    let next = 0;
    for (const event of published.get(run.runId) ?? []) {
      const stored = run.events[event.sequence - 1];
      if (!stored || stored.eventId !== event.eventId || stored.eventType !== event.eventType) {
        throw new Violation('bus-complete', `${event.eventId} was published, not as it is stored`);
      }
      if (event.sequence === events[next]?.sequence) next += 1;
    }
    const missing = events[next];
    if (missing) {
      throw new Violation(
        'bus-complete',
        `${missing.eventId} (${missing.eventType}) is not published behind what is before it`,
      );
    }
    published.delete(run.runId);
  }
  for (const runId of published.keys()) {
    throw new Violation('bus-complete', `${runId} was published and does not exist`);
  }
}

type BusEvent = Pick<AgentEvent, 'eventId' | 'eventType' | 'executionId' | 'sequence'>;

function isPublic(event: AgentEvent): boolean {
  return event.source === 'platform' && event.family !== 'presentation';
}

function checkReading(run: RunRecord | undefined, reading: Reading): void {
  const log = run?.events ?? [];
  const got = reading.events;
  const at = log.findIndex((event, index) => JSON.stringify(event) !== JSON.stringify(got[index]));
  if (at !== -1 || got.length !== log.length) {
    throw new Violation(
      'reader-complete',
      `${reading.runId}: event ${at + 1} of ${log.length} is ${got[at]?.eventId ?? 'missing'}, ${got.length} read`,
    );
  }
}
