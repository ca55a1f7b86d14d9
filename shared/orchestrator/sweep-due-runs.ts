import { isoTime } from '#shared/kit/clock.ts';
import type { DueCursor, DueTimer, RunHead } from '#shared/runs/index.ts';
import { DUE_SHARDS } from '#shared/topology/index.ts';
import { type SeenTask, type SweepDeps, sweepRun, taskQuestion } from './sweep-run.ts';

/** How much of one shard a tick does at most; what is left stays due. No page is begun after the tick's time either. */
export interface SweepBounds {
  /** No further page is read once so many runs were looked at. */
  readonly runs: number;
  /** Timers in one page. */
  readonly page: number;
  readonly pages: number;
}
const BOUNDS: SweepBounds = { runs: 500, page: 100, pages: 50 };
/** Of one page, under way at once. An ending is several requests: a thousand hosts may be lost together. */
const READS_AT_ONCE = 10;
const RUNS_AT_ONCE = 4;
const FAILURES_KEPT = 10_000;

/** What a sweeper remembers from tick to tick. Losing it costs nothing but repeated looks. */
export interface SweepMemory {
  /** Where a shard goes on that had more timers due than a tick takes. */
  readonly after: Map<number, DueCursor>;
  /** How often in a row the sweep of a run failed. */
  readonly failures: Map<string, number>;
}

export function newSweepMemory(): SweepMemory {
  return { after: new Map(), failures: new Map() };
}

export interface SweepCount {
  /** Due runs whose head was read. */
  readonly looked: number;
  readonly failed: number;
}

/**
 * ORC-5: one tick of the sweeper. Looks at every run whose timer is due, and at nothing else: finished runs have no
 * timer, so their number does not matter. Never throws: a shard, a run or an item that cannot be handled is logged
 * and hides no other.
 */
export async function sweepDueRuns(
  deps: SweepDeps,
  memory: SweepMemory = newSweepMemory(),
  bounds: SweepBounds = BOUNDS,
): Promise<SweepCount> {
  const counts = await Promise.all(
    Array.from({ length: DUE_SHARDS }, (_, shard) => sweepShard(deps, memory, bounds, shard)),
  );
  return {
    looked: counts.reduce((sum, { looked }) => sum + looked, 0),
    failed: counts.reduce((sum, { failed }) => sum + failed, 0),
  };
}

async function sweepShard(
  deps: SweepDeps,
  memory: SweepMemory,
  bounds: SweepBounds,
  shard: number,
): Promise<SweepCount> {
  const startedAt = deps.clock.now();
  const count = { looked: 0, failed: 0 };
  try {
    for (let page = 0; page < bounds.pages && count.looked < bounds.runs; page += 1) {
      if (page > 0 && deps.clock.now() - startedAt >= deps.timing.sweepEveryMs) break;
      const { timers, after } = await deps.ledger.dueTimers(shard, isoTime(startedAt), {
        limit: bounds.page,
        after: memory.after.get(shard),
      });
      if (after) memory.after.set(shard, after);
      else memory.after.delete(shard);
      logOthers(deps, timers);
      const swept = await sweepPage(deps, memory, timers.filter(isRun));
      count.looked += swept.looked;
      count.failed += swept.failed;
      if (!after) break;
    }
  } catch (error) {
    // From the beginning next time: the place itself may be what does not work.
    memory.after.delete(shard);
    deps.log.error({ shard, error }, 'due timers could not be read');
    count.failed += 1;
  }
  return count;
}

type RunTimer = DueTimer & { kind: 'run' };
type DueHead = RunHead & { readonly dueAt: string };

function isRun(timer: DueTimer): timer is RunTimer {
  return timer.kind === 'run';
}

/** Items of a newer version of the platform, or of a part that looks after its own. */
function logOthers(deps: SweepDeps, timers: readonly DueTimer[]): void {
  const keys = timers.flatMap((timer) => (timer.kind === 'other' ? [timer.key] : []));
  if (keys.length === 0) return;
  deps.log.warn({ count: keys.length, first: keys[0] }, 'due items of an unknown kind are left');
}

async function sweepPage(
  deps: SweepDeps,
  memory: SweepMemory,
  timers: readonly RunTimer[],
): Promise<SweepCount> {
  let failed = 0;
  const fail = async (timer: RunTimer, error: unknown) => {
    failed += 1;
    await backOff(deps, memory, timer, error);
  };
  const now = deps.clock.now();
  const due = new Map<RunTimer, DueHead>();
  await atMost(READS_AT_ONCE, timers, async (timer) => {
    try {
      const head = await deps.ledger.readHead(timer.ref);
      // The index is a moment behind: it ended meanwhile, or another tick has moved its timer.
      if (head?.dueAt && Date.parse(head.dueAt) <= now)
        due.set(timer, { ...head, dueAt: head.dueAt });
    } catch (error) {
      await fail(timer, error);
    }
  });
  const seen = await seeTasks(deps, [...due.values()], now);
  await atMost(RUNS_AT_ONCE, [...due], async ([timer, head]) => {
    try {
      await sweepRun(deps, head, seen.get(head.runId) ?? { state: 'unknown' });
      memory.failures.delete(head.runId);
    } catch (error) {
      await fail(timer, error);
    }
  });
  return { looked: timers.length, failed };
}

/** Asks the control plane for all tasks of a page together. What it does not answer is `unknown`, which ends no run. */
async function seeTasks(
  deps: SweepDeps,
  heads: readonly RunHead[],
  now: number,
): Promise<Map<string, SeenTask>> {
  const seen = new Map<string, SeenTask>();
  const asked = heads.filter((head) => taskQuestion(head, now) === 'look');
  try {
    const arns = asked.flatMap(({ taskArn }) => taskArn ?? []);
    const sights = arns.length > 0 ? await deps.launcher.look(arns) : [];
    for (const [index, head] of asked.entries()) {
      const sight = sights[index];
      if (sight) seen.set(head.runId, sight);
    }
  } catch (error) {
    deps.log.error({ tasks: asked.length, error }, 'tasks could not be looked at');
  }
  const nameless = heads.filter((head) => taskQuestion(head, now) === 'find');
  await atMost(READS_AT_ONCE, nameless, async (head) => {
    try {
      const sight = await deps.launcher.find(head, head.epoch);
      seen.set(head.runId, sight ?? { state: 'missing' });
    } catch (error) {
      deps.log.error({ runId: head.runId, error }, 'task could not be looked for');
    }
  });
  return seen;
}

/**
 * A run that cannot be swept is looked at again at the next tick, and then more and more rarely, so that it takes no
 * place from the others; never later than a lease, as every live run.
 */
async function backOff(
  deps: SweepDeps,
  memory: SweepMemory,
  { ref, dueAt }: RunTimer,
  error: unknown,
): Promise<void> {
  const failures = (memory.failures.get(ref.runId) ?? 0) + 1;
  if (memory.failures.size >= FAILURES_KEPT) memory.failures.clear();
  memory.failures.set(ref.runId, failures);
  deps.log.error({ runId: ref.runId, failures, error }, 'sweep of a run failed');
  if (failures === 1) return;
  const { sweepEveryMs, leaseMs } = deps.timing;
  const delayMs = Math.min(leaseMs, sweepEveryMs * 2 ** Math.min(failures - 2, 10));
  try {
    await deps.ledger.moveTimer(ref, dueAt, isoTime(deps.clock.now() + delayMs));
  } catch (moveError) {
    deps.log.warn({ runId: ref.runId, error: moveError }, 'timer of a failing run not moved');
  }
}

/** Runs `work` on each item, at most `limit` of them at once. `work` does not reject. */
async function atMost<T>(
  limit: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}
