import type { NewEvent } from '#shared/contracts/index.ts';

/**
 * Text as it is typed comes as many events that differ in their text and time alone. Stored, such a run of events is one
 * event without its text, the milliseconds from each to the next, the length of each text (in UTF-16 units), and all of
 * the text: what compresses well then lies together.
 */
type DeltaRun = readonly [
  first: NewEvent,
  gapsMs: readonly number[],
  lengths: readonly number[],
  text: string,
];
export type FoldedEvents = readonly (NewEvent | DeltaRun)[];

interface Delta {
  readonly messageId: string;
  readonly text: string;
}

export function foldDeltas(events: readonly NewEvent[]): FoldedEvents {
  const folded: (NewEvent | DeltaRun)[] = [];
  for (let from = 0; from < events.length; ) {
    const first = events[from] as NewEvent;
    let to = from + 1;
    if (isDelta(first)) {
      while (to < events.length && continues(first, events[to] as NewEvent)) to += 1;
    }
    folded.push(to - from > 1 ? toRun(events.slice(from, to)) : first);
    from = to;
  }
  return folded;
}

export function unfoldDeltas(folded: FoldedEvents): NewEvent[] {
  return folded.flatMap((entry) => (isRun(entry) ? fromRun(entry) : [entry]));
}

function isDelta({ eventType, payload, timestamp, blob }: NewEvent): boolean {
  if (eventType !== 'message.delta' || payload === null || typeof payload !== 'object')
    return false;
  // Its text is only a preview, and says where the whole one is.
  if (blob !== undefined) return false;
  const { messageId, text } = payload as Partial<Delta>;
  return (
    typeof messageId === 'string' &&
    typeof text === 'string' &&
    Object.keys(payload).length === 2 &&
    comesBack(timestamp)
  );
}

/** Times are stored as distances; one that is written in another way is left alone. */
function comesBack(timestamp: string): boolean {
  const time = Date.parse(timestamp);
  return Number.isFinite(time) && new Date(time).toISOString() === timestamp;
}

function continues(first: NewEvent, next: NewEvent): boolean {
  return (
    isDelta(next) &&
    next.source === first.source &&
    next.family === first.family &&
    next.engineSessionId === first.engineSessionId &&
    (next.payload as unknown as Delta).messageId === (first.payload as unknown as Delta).messageId
  );
}

function toRun(events: readonly NewEvent[]): DeltaRun {
  const [first] = events as readonly [NewEvent];
  const times = events.map(({ timestamp }) => Date.parse(timestamp));
  const texts = events.map(({ payload }) => (payload as unknown as Delta).text);
  const { messageId } = first.payload as unknown as Delta;
  return [
    { ...first, payload: { messageId } },
    times.slice(1).map((time, index) => time - (times[index] ?? 0)),
    texts.map((text) => text.length),
    texts.join(''),
  ];
}

function isRun(entry: NewEvent | DeltaRun): entry is DeltaRun {
  return Array.isArray(entry);
}

function fromRun([first, gapsMs, lengths, text]: DeltaRun): NewEvent[] {
  let time = Date.parse(first.timestamp);
  let at = 0;
  const { messageId } = first.payload as unknown as Delta;
  return lengths.map((length, index) => {
    if (index > 0) time += gapsMs[index - 1] ?? 0;
    const from = at;
    at += length;
    return {
      ...first,
      timestamp: new Date(time).toISOString(),
      payload: { messageId, text: text.slice(from, at) },
    };
  });
}
