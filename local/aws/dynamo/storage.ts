import type { StatementSync } from 'node:sqlite';
import type { StateDatabase } from '../kit/state-database.ts';
import type { KeyRange } from './dynalite-types.ts';
import type { Item, Table } from './model.ts';

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

/** What is kept about a table. `ttlAttribute` is set while Time to Live is enabled. */
export interface StoredTable {
  readonly table: Table;
  readonly protected: boolean;
  readonly ttlAttribute: string | undefined;
}

interface Tag {
  readonly Key: string;
  readonly Value: string;
}

/** Where the items of a table, or the entries of one of its indexes, are kept. */
export function spaceOf(table: string, index?: string): string {
  // Neither kind of name can contain "~".
  return index === undefined ? table : `${table}~${index}`;
}

/**
 * The tables and their items in SQLite. Nothing here begins or ends a SQLite transaction: that is up to the
 * caller, so that all which belongs together lands together.
 */
export interface Storage {
  readonly database: StateDatabase;
  table(name: string): StoredTable | undefined;
  tableNames(): string[];
  putTable(stored: StoredTable): void;
  /** Reads the tables again, after a SQLite transaction that changed them was rolled back. */
  reload(): void;
  putTags(table: string, tags: readonly Tag[]): void;
  removeTags(table: string, keys: readonly string[]): void;
  tags(table: string): Tag[];
  /** Removes the table with its items, index entries and tags. */
  deleteTable(name: string): void;
  /** The JSON of an item or index entry. */
  get(space: string, key: string): string | undefined;
  put(space: string, key: string, value: string): void;
  remove(space: string, key: string): void;
  /** The values within a key range, in its order. To be read to its end, or left, in one go. */
  range(space: string, range: KeyRange): Iterable<Item>;
  /** How many items there are in a space, and the bytes of their JSON. */
  measure(space: string): { readonly count: number; readonly bytes: number };
}

export function openStorage(database: StateDatabase): Storage {
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
  reload();
  return {
    database,
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
      for (const index of [undefined, ...indexNames(table)]) sql.clear.run(spaceOf(name, index));
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
    get: (space, key) => sql.get.get(space, key)?.value as string | undefined,
    put: (space, key, value) => void sql.put.run(space, key, value),
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

function indexNames(table: Table | undefined): string[] {
  const indexes = [
    ...(table?.GlobalSecondaryIndexes ?? []),
    ...(table?.LocalSecondaryIndexes ?? []),
  ];
  return indexes.map((index) => index.IndexName);
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
