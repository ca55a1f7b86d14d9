import type { AgentEvent } from '#shared/contracts/index.ts';
import { backoffMs } from '#shared/kit/backoff.ts';
import type { Clock } from '#shared/kit/clock.ts';
import type { RunRef } from '#shared/runs/index.ts';
import type { BusEvent, BusRefusal, EventBus } from './event-bus.ts';

/** A stored log page on its way to the bus. `events` is undefined when the page cannot be read. */
export interface OutboxPage {
  readonly ref: RunRef;
  readonly index: number;
  readonly events: readonly AgentEvent[] | undefined;
}

export interface PublishDeps {
  readonly bus: EventBus;
  readonly clock: Clock;
  readonly wait: (ms: number) => Promise<void>;
}

/** A run that did not get through. `pages` begins with the page it stopped at; `refusal` is absent when time was up. */
export interface StoppedRun<P extends OutboxPage> {
  readonly pages: readonly P[];
  readonly refusal: BusRefusal | undefined;
}

interface Lane<P extends OutboxPage> {
  readonly pages: readonly P[];
  readonly pending: readonly BusEvent[];
  readonly refusal?: BusRefusal;
}

const TRIES = 6;
const BACKOFF = { baseMs: 200, maxMs: 5_000 };
/** Looked at the clock after so many events. */
const ROUND_EVENTS = 100;

/**
 * Publishes pages, each run's in the order of the list: a page is offered when the bus has taken everything before it,
 * and a run that is refused something waits alone, while the others go on. From the first refused event on, a page is
 * tried again a bounded number of times, until `untilMs` at the latest.
 */
export async function publishPages<P extends OutboxPage>(
  deps: PublishDeps,
  pages: readonly P[],
  untilMs: number,
): Promise<{ accepted: number; stopped: StoppedRun<P>[] }> {
  const byRun = Map.groupBy(pages, ({ ref }) => `${ref.tenantId}#${ref.runId}`);
  let lanes = [...byRun.values()].flatMap((ofRun) => openLane(ofRun) ?? []);
  const stopped: Lane<P>[] = [];
  let accepted = 0;
  for (let attempt = 0; lanes.length > 0; attempt += 1) {
    const swept = await sweep(deps, lanes, untilMs);
    accepted += swept.accepted;
    // An event that is wrong stays wrong.
    lanes = swept.stopped.filter(({ refusal }) => refusal?.cause !== 'entry');
    stopped.push(...swept.stopped.filter(({ refusal }) => refusal?.cause === 'entry'));
    if (attempt + 1 >= TRIES || deps.clock.now() >= untilMs) break;
    if (lanes.length > 0) await deps.wait(backoffMs(attempt, BACKOFF));
  }
  stopped.push(...lanes);
  return {
    accepted,
    stopped: stopped.map((lane) => ({ pages: lane.pages, refusal: lane.refusal })),
  };
}

/** One try for every run: as far as each of them gets. */
async function sweep<P extends OutboxPage>(
  deps: PublishDeps,
  lanes: readonly Lane<P>[],
  untilMs: number,
): Promise<{ accepted: number; stopped: Lane<P>[] }> {
  const stopped = lanes.filter(({ pages: [page] }) => !page?.events);
  let open = lanes.filter(({ pages: [page] }) => page?.events);
  let accepted = 0;
  while (open.length > 0) {
    if (deps.clock.now() >= untilMs) return { accepted, stopped: [...stopped, ...open] };
    const round = takeRound(open);
    open = open.slice(round.length);
    const refusals = await deps.bus.publish(round.flatMap(({ pending }) => pending));
    const byPlace = new Map(refusals.map((refusal) => [refusal.index, refusal]));
    let place = 0;
    for (const lane of round) {
      const refused = lane.pending.map(() => byPlace.get(place++));
      accepted += refused.filter((each) => each === undefined).length;
      const first = refused.findIndex((each) => each !== undefined);
      const refusal = refused[first];
      if (refusal) {
        // What was taken behind it is sent again: whoever waits for a run's next event gets all of them in order.
        stopped.push({ pages: lane.pages, pending: lane.pending.slice(first), refusal });
        continue;
      }
      const next = openLane(lane.pages.slice(1));
      if (next?.refusal) stopped.push(next);
      else if (next) open.push(next);
    }
  }
  return { accepted, stopped };
}

function takeRound<P extends OutboxPage>(open: readonly Lane<P>[]): Lane<P>[] {
  let events = 0;
  const end = open.findIndex(({ pending }) => {
    events += pending.length;
    return events > ROUND_EVENTS;
  });
  return open.slice(0, end < 0 ? open.length : Math.max(1, end));
}

/** At the first page that has something for the bus; undefined when none has. */
function openLane<P extends OutboxPage>(pages: readonly P[]): Lane<P> | undefined {
  for (const [index, page] of pages.entries()) {
    const rest = pages.slice(index);
    if (!page.events) {
      return {
        pages: rest,
        pending: [],
        refusal: { index: 0, cause: 'entry', code: 'unreadable_page' },
      };
    }
    const pending = page.events
      .filter(isPublished)
      .map((event) => ({ tenantId: page.ref.tenantId, event }));
    if (pending.length > 0) return { pages: rest, pending };
  }
  return undefined;
}

/** The bus carries what others act on: not the text as it is typed, not the engines' own dialects. */
function isPublished(event: AgentEvent): boolean {
  return event.source === 'platform' && event.family !== 'presentation';
}
