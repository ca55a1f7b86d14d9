import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export type StateDatabase = DatabaseSync;

/**
 * The durable memory of the emulators: one SQLite file (or memory when no path is given). WAL with
 * `synchronous=NORMAL` loses nothing when the process is killed, since the operating system keeps the pages.
 * Each emulator makes its own tables, prefixed with its name.
 */
export function openStateDatabase(path?: string): StateDatabase {
  if (path) mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path ?? ':memory:');
  database.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=5000;');
  return database;
}

/** Runs `work` in one SQLite transaction: all of it lands or none. `work` must be synchronous. */
export function atomically<T>(database: StateDatabase, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}
