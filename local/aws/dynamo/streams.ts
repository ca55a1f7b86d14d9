import type { StateDatabase } from '../kit/state-database.ts';
import { validationError } from './dynamo-error.ts';
import type { Change, StreamView, Table, UserIdentity } from './model.ts';
import { streamRecord } from './stream-record.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS dynamo_stream (
    arn TEXT PRIMARY KEY,
    label TEXT NOT NULL,
    table_name TEXT NOT NULL,
    key_schema TEXT NOT NULL,
    view TEXT NOT NULL,
    -- Where the stream begins now: records up to this sequence are gone.
    trimmed_to INTEGER NOT NULL,
    -- Set when the stream is disabled or its table deleted; it stays readable for a day.
    ended_at INTEGER
  ) STRICT;
  -- AUTOINCREMENT: a sequence number is never used twice, even when all records are gone.
  CREATE TABLE IF NOT EXISTS dynamo_stream_record (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    arn TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS dynamo_stream_record_by_stream
    ON dynamo_stream_record (arn, sequence);
`;

const DAY_MS = 24 * 60 * 60 * 1000;

export interface Stream {
  readonly arn: string;
  readonly label: string;
  readonly tableName: string;
  readonly keySchema: Table['KeySchema'];
  readonly view: StreamView;
  readonly trimmedTo: number;
  /** Epoch milliseconds, once it is disabled. */
  readonly endedAt: number | undefined;
}

interface StoredRecord {
  readonly sequence: number;
  /** The record as GetRecords answers it. */
  readonly json: string;
}

/** The streams of all tables and their records. Like `Storage` it leaves SQLite transactions to its caller. */
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
  /** Reads the streams again, after a SQLite transaction that changed them was rolled back. */
  reload(): void;
}

/**
 * `retention`: how many of the newest records each stream keeps (AWS keeps a day). Trimming is done every
 * `retention / 10` records, so there may be a tenth more.
 */
export function openStreams(options: {
  database: StateDatabase;
  retention: number;
  region: string;
  now: () => number;
}): Streams {
  const { database, retention, region, now } = options;
  database.exec(SCHEMA);
  const sql = statements(database);
  const trimEvery = Math.max(1, Math.floor(retention / 10));
  const streams = new Map<string, Stream>();
  const enabled = new Map<string, Stream>();
  const untrimmed = new Map<string, number>();
  let lastUsed = 0;

  function reload(): void {
    streams.clear();
    enabled.clear();
    for (const row of sql.streams.all()) remember(streamOf(row));
    lastUsed = Number(sql.last.get()?.sequence ?? 0);
  }
  function remember(stream: Stream): void {
    streams.set(stream.arn, stream);
    if (stream.endedAt === undefined) enabled.set(stream.tableName, stream);
    else if (enabled.get(stream.tableName)?.arn === stream.arn) enabled.delete(stream.tableName);
  }
  function trim(stream: Stream): void {
    const oldestKept = sql.nthNewest.get(stream.arn, retention - 1)?.sequence;
    if (oldestKept === undefined) return;
    const trimmedTo = Number(oldestKept) - 1;
    sql.trim.run(stream.arn, trimmedTo);
    sql.setTrimmed.run(trimmedTo, stream.arn);
    remember({ ...stream, trimmedTo });
  }

  reload();
  return {
    reload,
    list: () => [...streams.values()],
    byArn: (arn) => streams.get(arn),
    enabledOn: (table) => enabled.get(table),
    enable(table, view) {
      if (enabled.has(table.TableName)) {
        throw validationError(`Table already has an enabled stream: TableName: ${table.TableName}`);
      }
      const label = freeLabel(table, streams, now());
      const arn = `${table.TableArn}/stream/${label}`;
      const keySchema = JSON.stringify(table.KeySchema);
      sql.addStream.run(arn, label, table.TableName, keySchema, view, lastUsed);
      const stream = streamOf(sql.stream.get(arn) ?? {});
      remember(stream);
      return stream;
    },
    disable(table) {
      const stream = enabled.get(table);
      if (!stream) throw validationError(`Table has no enabled stream: TableName: ${table}`);
      const endedAt = now();
      sql.end.run(endedAt, stream.arn);
      remember({ ...stream, endedAt });
    },
    append(change, identity) {
      const stream = enabled.get(change.table.TableName);
      if (!stream) return;
      lastUsed += 1;
      const sequence = lastUsed;
      const { view } = stream;
      const record = streamRecord({ change, view, sequence, region, at: now(), identity });
      sql.append.run(sequence, stream.arn, JSON.stringify(record));
      const count = (untrimmed.get(stream.arn) ?? 0) + 1;
      untrimmed.set(stream.arn, count % trimEvery);
      if (count % trimEvery === 0) trim(stream);
    },
    *recordsAfter(arn, sequence, limit) {
      for (const row of sql.after.iterate(arn, sequence, limit)) {
        yield { sequence: Number(row.sequence), json: row.record as string };
      }
    },
    lastSequence: (stream) =>
      Number(sql.nthNewest.get(stream.arn, 0)?.sequence ?? stream.trimmedTo),
    forgetEnded() {
      const before = now() - DAY_MS;
      const over = [...streams.values()].filter((stream) => (stream.endedAt ?? before) < before);
      for (const { arn } of over) {
        sql.forgetRecords.run(arn);
        sql.forget.run(arn);
        streams.delete(arn);
      }
    },
  };
}

function statements(database: StateDatabase) {
  const records = 'dynamo_stream_record';
  return {
    streams: database.prepare('SELECT * FROM dynamo_stream ORDER BY rowid'),
    stream: database.prepare('SELECT * FROM dynamo_stream WHERE arn = ?'),
    addStream: database.prepare('INSERT INTO dynamo_stream VALUES (?, ?, ?, ?, ?, ?, NULL)'),
    end: database.prepare('UPDATE dynamo_stream SET ended_at = ? WHERE arn = ?'),
    setTrimmed: database.prepare('UPDATE dynamo_stream SET trimmed_to = ? WHERE arn = ?'),
    forget: database.prepare('DELETE FROM dynamo_stream WHERE arn = ?'),
    forgetRecords: database.prepare(`DELETE FROM ${records} WHERE arn = ?`),
    last: database.prepare(`SELECT seq AS sequence FROM sqlite_sequence WHERE name = '${records}'`),
    append: database.prepare(`INSERT INTO ${records} VALUES (?, ?, ?)`),
    after: database.prepare(
      `SELECT sequence, record FROM ${records} WHERE arn = ? AND sequence > ?
       ORDER BY sequence LIMIT ?`,
    ),
    nthNewest: database.prepare(
      `SELECT sequence FROM ${records} WHERE arn = ? ORDER BY sequence DESC LIMIT 1 OFFSET ?`,
    ),
    trim: database.prepare(`DELETE FROM ${records} WHERE arn = ? AND sequence <= ?`),
  };
}

function streamOf(row: Record<string, unknown>): Stream {
  return {
    arn: row.arn as string,
    label: row.label as string,
    tableName: row.table_name as string,
    keySchema: JSON.parse(row.key_schema as string),
    view: row.view as StreamView,
    trimmedTo: Number(row.trimmed_to),
    endedAt: row.ended_at === null ? undefined : Number(row.ended_at),
  };
}

/** A stream is named by when it was made, to the millisecond; two never share one. */
function freeLabel(table: Table, taken: ReadonlyMap<string, Stream>, now: number): string {
  for (let at = now; ; at += 1) {
    const label = new Date(at).toISOString().slice(0, -1);
    if (!taken.has(`${table.TableArn}/stream/${label}`)) return label;
  }
}
