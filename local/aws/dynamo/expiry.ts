import type { DynaliteDb } from './dynalite-types.ts';
import type { Change, Item } from './model.ts';
import { type ExpiryStore, type Storage, spaceOf } from './storage.ts';

const FIVE_YEARS_S = 5 * 365 * 24 * 60 * 60;

/**
 * When the items of tables with Time to Live expire, in epoch seconds, so that a sweep reads only those which
 * have. Like `Storage` it leaves transactions to its caller.
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

export function openExpiry(store: ExpiryStore, storage: Storage, db: DynaliteDb): Expiry {
  return {
    note({ table, key, before, after }) {
      const attribute = storage.table(table.TableName)?.ttlAttribute;
      if (attribute === undefined) return;
      const expiresAt = after && expiryOf(after, attribute);
      if (expiresAt !== undefined) store.put(table.TableName, key, expiresAt);
      else if (before && expiryOf(before, attribute) !== undefined) {
        store.remove(table.TableName, key);
      }
    },
    expired(table, now, limit) {
      // AWS leaves items alone which expired over five years ago: their value is taken for a mistake.
      const keys = store.expiring(table, now - FIVE_YEARS_S, now, limit);
      return keys
        .map((key) => storage.get(spaceOf(table), key))
        .filter((item) => item !== undefined);
    },
    index(name, attribute) {
      const table = storage.table(name)?.table;
      if (!table) return;
      for (const item of storage.range(spaceOf(name), {})) {
        const expiresAt = expiryOf(item, attribute);
        if (expiresAt !== undefined) store.put(name, db.createKey(item, table), expiresAt);
      }
    },
    forget: (table) => store.forget(table),
  };
}

/** Only a number is an expiry; any other type is no error but never expires. */
function expiryOf(item: Item, attribute: string): number | undefined {
  const seconds = Number(item[attribute]?.N ?? Number.NaN);
  return Number.isFinite(seconds) && Math.abs(seconds) < Number.MAX_SAFE_INTEGER
    ? Math.floor(seconds)
    : undefined;
}
