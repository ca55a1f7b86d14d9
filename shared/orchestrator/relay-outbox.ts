import type { ParkedRuns } from './parked-runs.ts';
import type { Logger } from './ports.ts';
import {
  type OutboxPage,
  type PublishDeps,
  publishPages,
  type StoppedRun,
} from './publish-pages.ts';
import type { StreamFailures } from './stream-failures.ts';

/** A page as the table's stream tells of it. */
export interface StreamedPage extends OutboxPage {
  /** Sequence number of its record: where a retry would begin. */
  readonly record: string;
  /** When it was stored, in milliseconds since the epoch, to the second. */
  readonly storedAtMs: number;
}

export interface RelayDeps extends PublishDeps {
  readonly parked: ParkedRuns;
  readonly failures: StreamFailures;
  readonly log: Logger;
}

/** Well within the timeout of the function: what is not done then is delivered again. */
const BUDGET_MS = 40_000;
/** An event that the bus keeps refusing for no fault of its own, while it takes others, stops the shard for so long. */
const PATIENCE_MS = 15 * 60_000;

/**
 * TRM-6: publishes stored events at least once, each run's in order. Answers the record from which the stream must be
 * delivered again, or undefined when everything is done.
 *
 * A run that is refused something holds back itself alone; the others of the batch go on. What may pass is left to the
 * stream's retries, which repeat the events behind it under the same ids. What cannot pass parks the run: it is reported,
 * nothing of it is published until somebody redrives it from the table, and the shard moves on.
 */
export async function relayOutbox(
  deps: RelayDeps,
  pages: readonly StreamedPage[],
): Promise<string | undefined> {
  const open = await withoutParked(deps, pages);
  const { accepted, stopped } = await publishPages(deps, open, deps.clock.now() + BUDGET_MS);
  const left: StreamedPage[] = [];
  for (const run of stopped) {
    if (!(await park(deps, run, accepted))) left.push(...run.pages);
  }
  const records = new Set(left.map(({ record }) => record));
  const first = pages.find(({ record }) => records.has(record));
  if (first) {
    deps.log.warn(
      { record: first.record, runs: stopped.map(describe), accepted },
      'events not published yet',
    );
  }
  return first?.record;
}

async function withoutParked(
  { parked, log }: RelayDeps,
  pages: readonly StreamedPage[],
): Promise<StreamedPage[]> {
  const open: StreamedPage[] = [];
  const known = new Set((await parked.list()).map(({ ref }) => `${ref.tenantId}#${ref.runId}`));
  for (const [run, ofRun] of Map.groupBy(pages, ({ ref }) => `${ref.tenantId}#${ref.runId}`)) {
    const last = ofRun.at(-1);
    if (known.has(run) && last && (await parked.hold(last.ref, last.index)) === 'held') {
      log.info({ ...last.ref, page: last.index }, 'held back: the run is parked');
    } else open.push(...ofRun);
  }
  return open;
}

async function park(
  deps: RelayDeps,
  run: StoppedRun<StreamedPage>,
  accepted: number,
): Promise<boolean> {
  const { pages, refusal } = run;
  const [first] = pages;
  const last = pages.at(-1);
  if (!first || !last || !refusal) return false;
  const stuck =
    refusal.cause === 'fault' && accepted > 0 && deps.clock.now() - first.storedAtMs > PATIENCE_MS;
  if (refusal.cause !== 'entry' && !stuck) return false;
  const { ref, index: fromPage } = first;
  const { code } = refusal;
  try {
    // Reported first: a run must not be parked without anybody knowing.
    await deps.failures.report({ ref, fromPage, code });
    await deps.parked.park({
      ref,
      fromPage,
      throughPage: last.index,
      code,
      parkedAt: new Date(deps.clock.now()).toISOString(),
    });
  } catch (error) {
    deps.log.error({ ...ref, fromPage, code, error }, 'run could not be parked');
    return false;
  }
  deps.log.error({ ...ref, fromPage, code }, 'run parked: its events wait for a redrive');
  return true;
}

const describe = ({ pages, refusal }: StoppedRun<StreamedPage>) => ({
  ...pages[0]?.ref,
  page: pages[0]?.index,
  code: refusal?.code ?? 'out_of_time',
});
