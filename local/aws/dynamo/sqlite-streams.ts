import type { StateDatabase } from '../kit/state-database.ts';
import type { StreamView } from './model.ts';
import type { Stream, StreamStore } from './storage.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS dynamo_stream (
    arn TEXT PRIMARY KEY,
    label TEXT NOT NULL,
    table_name TEXT NOT NULL,
    key_schema TEXT NOT NULL,
    view TEXT NOT NULL,
    trimmed_to INTEGER NOT NULL,
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

/** Streams and their records in SQLite. */
export function sqliteStreams(database: StateDatabase): StreamStore {
  database.exec(SCHEMA);
  const sql = statements(database);
  return {
    load: () => ({
      streams: sql.streams.all().map(streamOf),
      lastUsed: Number(sql.last.get()?.sequence ?? 0),
    }),
    put({ arn, label, tableName, keySchema, view, trimmedTo, endedAt }) {
      const schema = JSON.stringify(keySchema);
      sql.put.run(arn, label, tableName, schema, view, trimmedTo, endedAt ?? null);
    },
    forget(arn) {
      sql.forgetRecords.run(arn);
      sql.forget.run(arn);
    },
    append: (arn, sequence, record) => void sql.append.run(sequence, arn, JSON.stringify(record)),
    *after(arn, sequence, limit) {
      for (const row of sql.after.iterate(arn, sequence, limit)) {
        const json = row.record as string;
        yield {
          sequence: Number(row.sequence),
          record: JSON.parse(json),
          bytes: json.length,
        };
      }
    },
    nthNewest(arn, n) {
      const row = sql.nthNewest.get(arn, n);
      return row && Number(row.sequence);
    },
    trim: (arn, sequence) => void sql.trim.run(arn, sequence),
  };
}

function statements(database: StateDatabase) {
  const records = 'dynamo_stream_record';
  return {
    streams: database.prepare('SELECT * FROM dynamo_stream ORDER BY rowid'),
    // Only what can change; a stream keeps its row, and so its place among the others.
    put: database.prepare(
      `INSERT INTO dynamo_stream VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (arn)
       DO UPDATE SET trimmed_to = excluded.trimmed_to, ended_at = excluded.ended_at`,
    ),
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
