import type { NewEvent } from '#shared/contracts/index.ts';
import { all, equals, type Item, startsWith, type Table } from '#shared/table/index.ts';
import { fromPageItem, notYetPut, PAGE_PREFIX, pageKey, toPageItem } from './dynamo-run-item.ts';
import { LOG_START, type LogPage, type LogPosition, positionAfter } from './log-page.ts';
import type { RunRef } from './run-head.ts';
import type { AppendOutcome, RunLedger } from './run-ledger.ts';

/**
 * See {@link RunLedger.appendPage}. Whoever loses the slot learns from the winner what happened:
 *
 *     own page, sent again      skip what it holds, go on behind it
 *     page of the platform      renumber, go on behind it, tell the host
 *     seal of an older epoch    go on behind it
 *     seal of this epoch, final fenced
 */
export async function appendPage(
  table: Table,
  input: Parameters<RunLedger['appendPage']>[0],
): Promise<AppendOutcome> {
  const { ref, epoch } = input;
  let position = input.position;
  let firstProducerSequence = input.firstProducerSequence;
  let events = input.events;
  const last = firstProducerSequence + events.length - 1;
  let storedThrough = firstProducerSequence - 1;
  const platformEvents: NewEvent[] = [];
  while (events.length > 0) {
    const page: LogPage = {
      index: position.nextIndex,
      kind: 'events',
      epoch,
      producer: 'host',
      producerFirst: firstProducerSequence,
      first: position.nextSequence,
      events,
      traceId: input.traceId,
    };
    const winner = await putPage(table, ref, page);
    position = positionAfter(winner);
    if (winner.mine) {
      storedThrough = firstProducerSequence + events.length - 1;
      break;
    }
    if (winner.kind === 'final') return { outcome: 'fenced', by: 'final' };
    if (winner.epoch > epoch || (winner.kind === 'seal' && winner.epoch >= epoch)) {
      return { outcome: 'fenced', by: 'seal' };
    }
    if (winner.producer === 'platform') {
      platformEvents.push(...winner.events);
    } else if (winner.epoch === epoch) {
      storedThrough = Math.max(storedThrough, winner.producerFirst + winner.count - 1);
      const skip = Math.max(0, storedThrough - firstProducerSequence + 1);
      events = events.slice(skip);
      firstProducerSequence += skip;
      // The page holds more than this batch: when the rest is sent again, it must meet the page once more.
      if (storedThrough > last) position = { nextIndex: winner.index, nextSequence: winner.first };
    }
  }
  return { outcome: 'stored', position, storedThrough, platformEvents };
}

type Winner = Omit<LogPage, 'events'> & {
  readonly events: readonly NewEvent[];
  readonly count: number;
  readonly mine: boolean;
};

async function putPage(table: Table, ref: RunRef, page: LogPage): Promise<Winner> {
  const outcome = await table.put(toPageItem(ref, page), notYetPut);
  if (outcome.applied) return { ...page, count: page.events.length, mine: true };
  const existing =
    outcome.existing ?? (await table.get(pageKey(ref, page.index), { consistent: true }));
  if (!existing) throw new TypeError('a page refused the slot and is not there');
  const winner = fromPageItem(existing);
  return { ...winner, count: winner.events.length, mine: false };
}

/** See {@link RunLedger.logEnd}. */
export async function logEnd(table: Table, ref: RunRef): Promise<LogPosition> {
  const last = await lastPage(table, ref);
  return last ? positionAfter({ ...last, count: last.events.length }) : LOG_START;
}

async function lastPage(table: Table, ref: RunRef): Promise<LogPage | undefined> {
  const { items } = await table.query({
    keys: all(equals('pk', pageKey(ref, 0).pk), startsWith('sk', PAGE_PREFIX)),
    limit: 1,
    descending: true,
    consistent: true,
  });
  return items[0] && fromPageItem(items[0]);
}

/** A page of the platform at a place in the log, ready to be put in a transaction. */
export function platformPage(
  position: LogPosition,
  page: Pick<LogPage, 'kind' | 'epoch' | 'events' | 'traceId' | 'attempt'>,
): LogPage {
  return {
    ...page,
    index: position.nextIndex,
    first: position.nextSequence,
    producer: 'platform',
    producerFirst: 0,
  };
}

/** Where to go on behind the page that took the slot. */
export function positionBehind(winner: Item): LogPosition {
  const page = fromPageItem(winner);
  return positionAfter({ ...page, count: page.events.length });
}
