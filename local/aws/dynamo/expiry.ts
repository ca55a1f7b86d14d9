import type { StateDatabase } from '../kit/state-database.ts';
import type { Change, Item } from './model.ts';
import type { Storage } from './storage.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS dynamo_expiry (
    table_name TEXT NOT NULL,
    key TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (table_name, key)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS dynamo_expiry_by_time ON dynamo_expiry (table_name, expires_at);
`;

const FIVE_YEARS_S = 5 * 365 * 24 * 60 * 60;

/**
 * When the items of tables with Time to Live expire, in epoch seconds, so that a sweep reads only those which
 * have. Like `Storage` it leaves SQLite transactions to its caller.
 */
export interface Expiry {
  /** Notes the expiry of a changed item, or that it has none. */
  note(change: Change): void;
  /** Items of a table that have expired at `now` (epoch seconds), the oldest first. */
  expired(table: string, now: number, limit: number): Item[];
  /** Notes all items of a table, when Time to Live is enabled on it. */
  index(table: string, attribute: string): void;
  forget(table: string): void;
}

export function openExpiry(database: StateDatabase, storage: Storage): Expiry {
  database.exec(SCHEMA);
  const sql = {
    put: database.prepare('INSERT OR REPLACE INTO dynamo_expiry VALUES (?, ?, ?)'),
    remove: database.prepare('DELETE FROM dynamo_expiry WHERE table_name = ? AND key = ?'),
    forget: database.prepare('DELETE FROM dynamo_expiry WHERE table_name = ?'),
    // AWS leaves items alone which expired over five years ago: their value is taken for a mistake.
    expired: database.prepare(
      `SELECT value FROM dynamo_expiry
       JOIN dynamo_item ON space = table_name AND dynamo_item.key = dynamo_expiry.key
       WHERE table_name = ? AND expires_at < ? AND expires_at > ?
       ORDER BY expires_at LIMIT ?`,
    ),
    items: database.prepare('SELECT key, value FROM dynamo_item WHERE space = ?'),
  };
  return {
    note({ table, key, before, after }) {
      const attribute = storage.table(table.TableName)?.ttlAttribute;
      if (attribute === undefined) return;
      const expiresAt = after && expiryOf(after, attribute);
      if (expiresAt !== undefined) sql.put.run(table.TableName, key, expiresAt);
      else if (before && expiryOf(before, attribute) !== undefined) {
        sql.remove.run(table.TableName, key);
      }
    },
    expired: (table, now, limit) =>
      sql.expired
        .all(table, now, now - FIVE_YEARS_S, limit)
        .map((row) => JSON.parse(row.value as string)),
    index(table, attribute) {
      for (const { key, value } of sql.items.all(table)) {
        const expiresAt = expiryOf(JSON.parse(value as string), attribute);
        if (expiresAt !== undefined) sql.put.run(table, key as string, expiresAt);
      }
    },
    forget: (table) => void sql.forget.run(table),
  };
}

/** Only a number is an expiry; any other type is no error but never expires. */
function expiryOf(item: Item, attribute: string): number | undefined {
  const seconds = Number(item[attribute]?.N ?? Number.NaN);
  return Number.isFinite(seconds) && Math.abs(seconds) < Number.MAX_SAFE_INTEGER
    ? Math.floor(seconds)
    : undefined;
}
