import type { StateDatabase } from '../kit/state-database.ts';
import { sqliteStorage } from './sqlite-storage.ts';
import { sqliteStreams } from './sqlite-streams.ts';
import type { ExpiryStore, Stores, TokenStore } from './storage.ts';

/** Everything in one SQLite database, which only this process may write meanwhile. */
export function sqliteStores(database: StateDatabase): Stores {
  return {
    storage: sqliteStorage(database),
    streams: sqliteStreams(database),
    expiry: sqliteExpiry(database),
    tokens: sqliteTokens(database),
  };
}

function sqliteExpiry(database: StateDatabase): ExpiryStore {
  database.exec(`
    CREATE TABLE IF NOT EXISTS dynamo_expiry (
      table_name TEXT NOT NULL,
      key TEXT NOT NULL,
      expires_at INTEGER NOT NULL,
      PRIMARY KEY (table_name, key)
    ) STRICT;
    CREATE INDEX IF NOT EXISTS dynamo_expiry_by_time ON dynamo_expiry (table_name, expires_at);
  `);
  const sql = {
    put: database.prepare('INSERT OR REPLACE INTO dynamo_expiry VALUES (?, ?, ?)'),
    remove: database.prepare('DELETE FROM dynamo_expiry WHERE table_name = ? AND key = ?'),
    forget: database.prepare('DELETE FROM dynamo_expiry WHERE table_name = ?'),
    expiring: database.prepare(
      `SELECT key FROM dynamo_expiry WHERE table_name = ? AND expires_at > ? AND expires_at < ?
       ORDER BY expires_at LIMIT ?`,
    ),
  };
  return {
    put: (table, key, expiresAt) => void sql.put.run(table, key, expiresAt),
    remove: (table, key) => void sql.remove.run(table, key),
    forget: (table) => void sql.forget.run(table),
    expiring: (table, from, until, limit) =>
      sql.expiring.all(table, from, until, limit).map((row) => row.key as string),
  };
}

function sqliteTokens(database: StateDatabase): TokenStore {
  database.exec(`
    CREATE TABLE IF NOT EXISTS dynamo_transaction_token (
      token TEXT PRIMARY KEY,
      digest TEXT NOT NULL,
      committed_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS dynamo_transaction_token_by_age
      ON dynamo_transaction_token (committed_at);
  `);
  const sql = {
    find: database.prepare(
      'SELECT digest FROM dynamo_transaction_token WHERE token = ? AND committed_at > ?',
    ),
    put: database.prepare('INSERT OR REPLACE INTO dynamo_transaction_token VALUES (?, ?, ?)'),
    forget: database.prepare('DELETE FROM dynamo_transaction_token WHERE committed_at <= ?'),
  };
  return {
    find: (token, since) => sql.find.get(token, since)?.digest as string | undefined,
    put: (token, digest, committedAt) => void sql.put.run(token, digest, committedAt),
    forgetUntil: (committedAt) => void sql.forget.run(committedAt),
  };
}
