import type { StatementSync } from 'node:sqlite';
import { atomically, type StateDatabase } from '../kit/state-database.ts';
import type { KeyRange } from './dynalite-types.ts';
import type { Item } from './model.ts';
import { type Storage, type StoredTable, spacesOf } from './storage.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS dynamo_table (
    name TEXT PRIMARY KEY,
    description TEXT NOT NULL,
    protected INTEGER NOT NULL DEFAULT 0,
    ttl_attribute TEXT
  ) STRICT;
  -- space: which table or index; key: dynalite's encoding, which sorts as DynamoDB does; value: JSON
  CREATE TABLE IF NOT EXISTS dynamo_item (
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (space, key)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS dynamo_tag (
    table_name TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (table_name, key)
  ) STRICT;
`;

/** Tables and items in SQLite. */
export function sqliteStorage(database: StateDatabase): Storage {
  database.exec(SCHEMA);
  const sql = statements(database);
  const ranges = rangeStatements(database);
  // Every request looks its table up. Only this process writes the database.
  const tables = new Map<string, StoredTable>();
  const reload = () => {
    tables.clear();
    for (const stored of sql.tables.all().map(storedTable)) {
      tables.set(stored.table.TableName, stored);
    }
  };
  const json = jsonOfLast();
  reload();
  return {
    atomically: nestable(database),
    reload,
    table: (name) => tables.get(name),
    tableNames: () => [...tables.keys()].sort(),
    putTable(stored) {
      const { table, ttlAttribute } = stored;
      const description = JSON.stringify(table);
      sql.putTable.run(
        table.TableName,
        description,
        stored.protected ? 1 : 0,
        ttlAttribute ?? null,
      );
      tables.set(table.TableName, stored);
    },
    deleteTable(name) {
      const table = tables.get(name)?.table;
      for (const space of table ? spacesOf(table) : []) sql.clear.run(space);
      sql.deleteTags.run(name);
      sql.deleteTable.run(name);
      tables.delete(name);
    },
    putTags(table, tags) {
      for (const { Key, Value } of tags) sql.putTag.run(table, Key, Value);
    },
    removeTags(table, keys) {
      for (const key of keys) sql.removeTag.run(table, key);
    },
    tags: (table) =>
      sql.tags.all(table).map(({ key, value }) => ({ Key: key as string, Value: value as string })),
    get(space, key) {
      const row = sql.get.get(space, key);
      return row && JSON.parse(row.value as string);
    },
    put: (space, key, value) => void sql.put.run(space, key, json(value)),
    remove: (space, key) => void sql.remove.run(space, key),
    *range(space, range) {
      const { statement, bounds } = ranges(range);
      for (const { value } of statement.iterate(space, ...bounds)) {
        yield JSON.parse(value as string);
      }
    },
    measure(space) {
      const row = sql.measure.get(space);
      return { count: Number(row?.count), bytes: Number(row?.bytes) };
    },
  };
}

/** Transactions, and savepoints within them. */
function nestable(database: StateDatabase): Storage['atomically'] {
  let open = false;
  const within = <T>(work: () => T): T => {
    database.exec('SAVEPOINT dynamo');
    try {
      const result = work();
      database.exec('RELEASE dynamo');
      return result;
    } catch (error) {
      database.exec('ROLLBACK TO dynamo; RELEASE dynamo');
      throw error;
    }
  };
  return (work) => {
    if (open) return within(work);
    open = true;
    try {
      return atomically(database, work);
    } finally {
      open = false;
    }
  };
}

/** JSON of an item. An index that projects all attributes keeps the very item that was just written. */
function jsonOfLast(): (item: Item) => string {
  let last: { readonly item: Item; readonly json: string } | undefined;
  return (item) => {
    if (last?.item !== item) last = { item, json: JSON.stringify(item) };
    return last.json;
  };
}

function statements(database: StateDatabase) {
  return {
    tables: database.prepare('SELECT * FROM dynamo_table'),
    putTable: database.prepare('INSERT OR REPLACE INTO dynamo_table VALUES (?, ?, ?, ?)'),
    deleteTable: database.prepare('DELETE FROM dynamo_table WHERE name = ?'),
    deleteTags: database.prepare('DELETE FROM dynamo_tag WHERE table_name = ?'),
    putTag: database.prepare('INSERT OR REPLACE INTO dynamo_tag VALUES (?, ?, ?)'),
    removeTag: database.prepare('DELETE FROM dynamo_tag WHERE table_name = ? AND key = ?'),
    tags: database.prepare('SELECT key, value FROM dynamo_tag WHERE table_name = ? ORDER BY key'),
    get: database.prepare('SELECT value FROM dynamo_item WHERE space = ? AND key = ?'),
    put: database.prepare(
      `INSERT INTO dynamo_item VALUES (?, ?, ?)
       ON CONFLICT (space, key) DO UPDATE SET value = excluded.value`,
    ),
    remove: database.prepare('DELETE FROM dynamo_item WHERE space = ? AND key = ?'),
    clear: database.prepare('DELETE FROM dynamo_item WHERE space = ?'),
    measure: database.prepare(
      `SELECT count(*) AS count, coalesce(sum(octet_length(value)), 0) AS bytes
       FROM dynamo_item WHERE space = ?`,
    ),
  };
}

function storedTable(row: Record<string, unknown>): StoredTable {
  return {
    table: JSON.parse(row.description as string),
    protected: row.protected === 1,
    ttlAttribute: (row.ttl_attribute as string | null) ?? undefined,
  };
}

/** Finds the statement for the bounds a range has, prepared at its first use. */
function rangeStatements(database: StateDatabase) {
  const prepared = new Map<string, StatementSync>();
  return (range: KeyRange): { statement: StatementSync; bounds: string[] } => {
    const bounds: string[] = [];
    let sql = 'SELECT value FROM dynamo_item WHERE space = ?';
    for (const [bound, operator] of BOUNDS) {
      const key = range[bound];
      if (key === undefined) continue;
      sql += ` AND key ${operator} ?`;
      bounds.push(key);
    }
    sql += ` ORDER BY key ${range.reverse ? 'DESC' : 'ASC'}`;
    let statement = prepared.get(sql);
    if (!statement) {
      statement = database.prepare(sql);
      prepared.set(sql, statement);
    }
    return { statement, bounds };
  };
}

const BOUNDS = [
  ['gt', '>'],
  ['gte', '>='],
  ['lt', '<'],
  ['lte', '<='],
] as const;
