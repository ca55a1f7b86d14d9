import { validationError } from './dynamo-error.ts';
import type { Change, StreamView, Table, UserIdentity } from './model.ts';
import type { StoredRecord, Stream, StreamStore } from './storage.ts';
import { streamRecord } from './stream-record.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** The streams of all tables and their records. Like `Storage` it leaves transactions to its caller. */
export interface Streams {
  /** All of them, those that have ended too. */
  list(): Stream[];
  byArn(arn: string): Stream | undefined;
  /** The stream a table has now. */
  enabledOn(table: string): Stream | undefined;
  /** Throws a ValidationException when the table has a stream. */
  enable(table: Table, view: StreamView): Stream;
  /** Throws a ValidationException when the table has none. */
  disable(table: string): void;
  /** Adds the record of a change, if its table has a stream. The change must be one. */
  append(change: Change, identity?: UserIdentity): void;
  /** At most `limit` records after a sequence, in order. */
  recordsAfter(arn: string, sequence: number, limit: number): Iterable<StoredRecord>;
  /** The sequence of the newest record; where the stream begins when it has none. */
  lastSequence(stream: Stream): number;
  /** Forgets streams that ended a day ago. */
  forgetEnded(): void;
  /** Reads the streams again, after a transaction that changed them was rolled back. */
  reload(): void;
}

/**
 * `retention`: how many of the newest records each stream keeps (AWS keeps a day). Trimming is done every
 * `retention / 10` records, so there may be a tenth more.
 */
export function openStreams(options: {
  store: StreamStore;
  retention: number;
  region: string;
  now: () => number;
  /** A record's `eventID`, 32 hexadecimal digits. */
  eventId: (sequence: number) => string;
}): Streams {
  const { store, retention, region, now, eventId } = options;
  const trimEvery = Math.max(1, Math.floor(retention / 10));
  const streams = new Map<string, Stream>();
  const enabled = new Map<string, Stream>();
  const untrimmed = new Map<string, number>();
  let lastUsed = 0;

  function reload(): void {
    const stored = store.load();
    streams.clear();
    enabled.clear();
    for (const stream of stored.streams) remember(stream);
    lastUsed = stored.lastUsed;
  }
  function remember(stream: Stream): void {
    streams.set(stream.arn, stream);
    if (stream.endedAt === undefined) enabled.set(stream.tableName, stream);
    else if (enabled.get(stream.tableName)?.arn === stream.arn) enabled.delete(stream.tableName);
  }
  function put(stream: Stream): Stream {
    store.put(stream);
    remember(stream);
    return stream;
  }
  function trim(stream: Stream): void {
    const oldestKept = store.nthNewest(stream.arn, retention - 1);
    if (oldestKept === undefined) return;
    const trimmedTo = oldestKept - 1;
    store.trim(stream.arn, trimmedTo);
    put({ ...stream, trimmedTo });
  }

  reload();
  return {
    reload,
    list: () => [...streams.values()],
    byArn: (arn) => streams.get(arn),
    enabledOn: (table) => enabled.get(table),
    enable(table, view) {
      const { TableName: tableName, TableArn, KeySchema: keySchema } = table;
      if (enabled.has(tableName)) {
        throw validationError(`Table already has an enabled stream: TableName: ${tableName}`);
      }
      const label = freeLabel(table, streams, now());
      const arn = `${TableArn}/stream/${label}`;
      const begins = { trimmedTo: lastUsed, endedAt: undefined };
      return put({ arn, label, tableName, keySchema, view, ...begins });
    },
    disable(table) {
      const stream = enabled.get(table);
      if (!stream) throw validationError(`Table has no enabled stream: TableName: ${table}`);
      put({ ...stream, endedAt: now() });
    },
    append(change, identity) {
      const stream = enabled.get(change.table.TableName);
      if (!stream) return;
      lastUsed += 1;
      const sequence = lastUsed;
      const { view } = stream;
      const made = { change, view, sequence, region, at: now(), identity };
      store.append(stream.arn, sequence, streamRecord(made, eventId(sequence)));
      const count = (untrimmed.get(stream.arn) ?? 0) + 1;
      untrimmed.set(stream.arn, count % trimEvery);
      if (count % trimEvery === 0) trim(stream);
    },
    recordsAfter: (arn, sequence, limit) => store.after(arn, sequence, limit),
    lastSequence: (stream) => store.nthNewest(stream.arn, 0) ?? stream.trimmedTo,
    forgetEnded() {
      const before = now() - DAY_MS;
      const over = [...streams.values()].filter((stream) => (stream.endedAt ?? before) < before);
      for (const { arn } of over) {
        store.forget(arn);
        streams.delete(arn);
      }
    },
  };
}

/** A stream is named by when it was made, to the millisecond; two never share one. */
function freeLabel(table: Table, taken: ReadonlyMap<string, Stream>, now: number): string {
  for (let at = now; ; at += 1) {
    const label = new Date(at).toISOString().slice(0, -1);
    if (!taken.has(`${table.TableArn}/stream/${label}`)) return label;
  }
}
