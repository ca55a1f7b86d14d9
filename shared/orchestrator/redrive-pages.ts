import { z } from 'zod';
import { PlatformError, runIdSchema, tenantIdSchema } from '#shared/contracts/index.ts';
import { type LogPage, type RunLedger, type RunRef, toAgentEvents } from '#shared/runs/index.ts';
import type { UsageStore } from '#shared/usage/index.ts';
import { usageFactOf } from './fold-usage.ts';
import type { ParkedRun, ParkedRuns } from './parked-runs.ts';
import type { Logger } from './ports.ts';
import { type OutboxPage, type PublishDeps, publishPages } from './publish-pages.ts';
import type { FailureInbox, FailureNotice, PageRange } from './stream-failures.ts';

const pageNumber = z.number().int().min(1).max(99_999_999);

/** What an operator asks for. `list` changes nothing; `parked` redrives all that was given up; `runs` what is named. */
export const redriveRequestSchema = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('list') }),
  z.strictObject({ action: z.literal('parked') }),
  z.strictObject({
    action: z.literal('runs'),
    runs: z
      .array(
        z.strictObject({
          tenantId: tenantIdSchema,
          runId: runIdSchema,
          fromPage: pageNumber.default(1),
          toPage: pageNumber.optional(),
        }),
      )
      .min(1)
      .max(100),
  }),
]);
export type RedriveRequest = z.infer<typeof redriveRequestSchema>;

export interface RedrivenRun {
  readonly tenantId: string;
  readonly runId: string;
  /** Pages that went through: their events are on the bus, under the ids they always had; their usage is counted. */
  readonly pages: number;
  /** Why it stopped; absent when all of it went through. */
  readonly stopped?: { readonly page: number; readonly code: string };
}

export interface RedriveReport {
  readonly runs: readonly RedrivenRun[];
  /** Runs whose events are held back now. */
  readonly parked: readonly (RunRef & Omit<ParkedRun, 'ref'>)[];
  /** Messages that wait in the queues of failures, about. */
  readonly waiting: { readonly outbox: number; readonly usage: number };
  /** Messages that say of no run any more which one it was: by hand, from the runs of that time. */
  readonly unresolved: readonly string[];
  /** False when time was up: ask again. */
  readonly complete: boolean;
}

export interface RedriveDeps extends PublishDeps {
  readonly ledger: Pick<RunLedger, 'readPages' | 'readHead' | 'readSnapshot'>;
  readonly parked: ParkedRuns;
  readonly usage: UsageStore;
  readonly inboxes: { readonly outbox: FailureInbox; readonly usage: FailureInbox };
  readonly log: Logger;
}

type Purpose = 'publish' | 'count';

/** Well within the timeout of the function. */
const BUDGET_MS = 200_000;
const PAGES_PER_READ = 20;

/**
 * TRM-6: publishes and counts again from the table what the stream's consumers gave up; the records of the stream are
 * gone after a day, the pages are not. Harmless however often and wherever it is called: events have the same ids, and
 * usage counts once.
 */
export async function redrivePages(
  deps: RedriveDeps,
  request: RedriveRequest,
): Promise<RedriveReport> {
  const untilMs = deps.clock.now() + BUDGET_MS;
  const runs: RedrivenRun[] = [];
  const unresolved: string[] = [];
  let complete = true;
  if (request.action === 'runs') {
    for (const { tenantId, runId, ...pages } of request.runs) {
      const range = { ref: { tenantId, runId }, ...pages };
      const redriven = await redriveRange(deps, range, ['publish', 'count'], untilMs);
      complete &&= redriven.stopped?.code !== OUT_OF_TIME;
      runs.push(redriven);
    }
  }
  if (request.action === 'parked') {
    for (const run of await deps.parked.list()) {
      const redriven = await releaseRun(deps, run, untilMs);
      complete &&= redriven.stopped?.code !== OUT_OF_TIME;
      runs.push(redriven);
    }
    for (const [name, purpose] of [
      ['outbox', 'publish'],
      ['usage', 'count'],
    ] as const) {
      const emptied = await emptyInbox(deps, deps.inboxes[name], purpose, untilMs);
      runs.push(...emptied.runs);
      unresolved.push(...emptied.unresolved);
      complete &&= emptied.complete;
    }
  }
  const [parked, outbox, usage] = await Promise.all([
    deps.parked.list(),
    deps.inboxes.outbox.waiting(),
    deps.inboxes.usage.waiting(),
  ]);
  return {
    runs,
    parked: parked.map(({ ref, ...rest }) => ({ ...ref, ...rest })),
    waiting: { outbox, usage },
    unresolved,
    complete,
  };
}

const OUT_OF_TIME = 'out_of_time';

/** Publishes a parked run from where it stopped, in order, and lets the relay go on behind it. */
async function releaseRun(
  deps: RedriveDeps,
  run: ParkedRun,
  untilMs: number,
): Promise<RedrivenRun> {
  let pages = 0;
  let next = run.fromPage;
  let through = run.throughPage;
  for (;;) {
    const part = await redriveRange(deps, { ref: run.ref, fromPage: next }, ['publish'], untilMs);
    pages += part.pages;
    if (part.stopped) {
      await deps.parked.advance(run.ref, part.stopped.page);
      return { ...part, pages };
    }
    next += part.pages;
    // Pages that were held back and are no longer there have left the table with their run.
    if ((await deps.parked.release(run.ref, Math.max(next - 1, through))) === 'released') {
      deps.log.info({ ...run.ref, pages }, 'parked run released');
      return { ...run.ref, pages };
    }
    through = (await deps.parked.list()).find(({ ref }) => isSame(ref, run.ref))?.throughPage ?? 0;
  }
}

/** The messages that wait when it is called; one that fails comes again by itself. */
async function emptyInbox(
  deps: RedriveDeps,
  inbox: FailureInbox,
  purpose: Purpose,
  untilMs: number,
): Promise<{ runs: RedrivenRun[]; unresolved: string[]; complete: boolean }> {
  const runs: RedrivenRun[] = [];
  const unresolved: string[] = [];
  const seen = new Set<string>();
  for (;;) {
    if (deps.clock.now() >= untilMs) return { runs, unresolved, complete: false };
    // What could not be done comes again by itself; it has had its turn.
    const notices = (await inbox.take()).filter(({ id }) => !seen.has(id));
    if (notices.length === 0) return { runs, unresolved, complete: true };
    for (const notice of notices) {
      seen.add(notice.id);
      if (notice.kind !== 'pages') unresolved.push(`${notice.kind}: ${notice.detail}`);
      else {
        const redriven = await redriveNotice(deps, notice, purpose, untilMs);
        runs.push(...redriven);
        if (redriven.every(({ stopped }) => !stopped)) await notice.done();
      }
    }
  }
}

async function redriveNotice(
  deps: RedriveDeps,
  notice: FailureNotice & { kind: 'pages' },
  purpose: Purpose,
  untilMs: number,
): Promise<RedrivenRun[]> {
  const runs: RedrivenRun[] = [];
  const parked = await deps.parked.list();
  for (const range of notice.ranges) {
    const still = purpose === 'publish' && parked.find(({ ref }) => isSame(ref, range.ref));
    if (still) {
      // Its turn has come before, with all that is parked, and it could not be released.
      runs.push({ ...range.ref, pages: 0, stopped: { page: still.fromPage, code: still.code } });
    } else if (purpose === 'count' || range.toPage !== undefined) {
      runs.push(await redriveRange(deps, range, [purpose], untilMs));
    }
    // Else it told of a run that was parked, and is no longer.
  }
  return runs;
}

async function redriveRange(
  deps: RedriveDeps,
  range: PageRange,
  purposes: readonly Purpose[],
  untilMs: number,
): Promise<RedrivenRun> {
  const { ref, fromPage, toPage = Number.POSITIVE_INFINITY } = range;
  let next = fromPage;
  const result = (stopped?: RedrivenRun['stopped']): RedrivenRun => ({
    ...{ tenantId: ref.tenantId, runId: ref.runId },
    pages: next - fromPage,
    ...(stopped ? { stopped } : {}),
  });
  while (next <= toPage) {
    if (deps.clock.now() >= untilMs) return result({ page: next, code: OUT_OF_TIME });
    const read = await readPages(deps, ref, next);
    if (read === 'unreadable') return result({ page: next, code: 'unreadable_page' });
    const pages = read.filter(({ index }) => index <= toPage);
    if (pages.length === 0) break;
    const stopped = purposes.includes('publish')
      ? await publish(deps, ref, pages, untilMs)
      : undefined;
    const through = pages.filter(({ index }) => index < (stopped?.page ?? Infinity));
    if (purposes.includes('count')) await count(deps, ref, through);
    next = (through.at(-1)?.index ?? next - 1) + 1;
    if (stopped) return result(stopped);
  }
  return result();
}

async function readPages(
  { ledger, log }: RedriveDeps,
  ref: RunRef,
  from: number,
): Promise<LogPage[] | 'unreadable'> {
  // One that cannot be read spoils its portion: page by page it is only itself.
  for (const limit of [PAGES_PER_READ, 1]) {
    try {
      return await ledger.readPages(ref, from - 1, limit);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      log.error({ ...ref, page: from, limit, error }, 'page cannot be read');
    }
  }
  return 'unreadable';
}

/** The item does not fit its schema, its body is no JSON, or cannot be unpacked. */
function isUnreadable(error: unknown): boolean {
  if (error instanceof PlatformError) return error.record.code === 'internal';
  const { code } = error as { code?: unknown };
  return error instanceof SyntaxError || (typeof code === 'string' && code.startsWith('Z_'));
}

async function publish(
  deps: RedriveDeps,
  ref: RunRef,
  pages: readonly LogPage[],
  untilMs: number,
): Promise<RedrivenRun['stopped']> {
  const outbox: OutboxPage[] = pages.map((page) => ({
    ref,
    index: page.index,
    events: toAgentEvents(ref.runId, page),
  }));
  const [run] = (await publishPages(deps, outbox, untilMs)).stopped;
  const page = run?.pages[0];
  return page && { page: page.index, code: run.refusal?.code ?? OUT_OF_TIME };
}

async function count(deps: RedriveDeps, ref: RunRef, pages: readonly LogPage[]): Promise<void> {
  const facts = await Promise.all(pages.map((page) => usageFactOf(deps.ledger, ref, page)));
  await deps.usage.fold(facts.filter((fact) => fact !== undefined));
}

const isSame = (a: RunRef, b: RunRef) => a.tenantId === b.tenantId && a.runId === b.runId;
