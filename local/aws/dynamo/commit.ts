import { atomically } from '../kit/state-database.ts';
import type { DynaliteDb } from './dynalite-types.ts';
import type { Expiry } from './expiry.ts';
import { indexEntryChanges } from './index-entries.ts';
import type { Change, UserIdentity } from './model.ts';
import { type Storage, spaceOf } from './storage.ts';
import type { Streams } from './streams.ts';
import { sameItem } from './values.ts';

/**
 * Makes changes durable: items, index entries, expiries, stream records, and whatever `also` writes, in ONE
 * SQLite transaction. A process that is killed at any moment has done all of it or nothing, so there is
 * nothing to repair when it starts again.
 */
export type Commit = (
  changes: readonly Change[],
  options?: { readonly identity?: UserIdentity; readonly also?: () => void },
) => void;

export function committer(parts: {
  db: DynaliteDb;
  storage: Storage;
  streams: Streams;
  expiry: Expiry;
}): Commit {
  const { db, storage, streams, expiry } = parts;

  function apply(change: Change, identity: UserIdentity | undefined): void {
    const { table, key, after } = change;
    const json = after && JSON.stringify(after);
    if (json === undefined) storage.remove(spaceOf(table.TableName), key);
    else storage.put(spaceOf(table.TableName), key, json);
    for (const { index, removed, put } of indexEntryChanges(db, change)) {
      const space = spaceOf(table.TableName, index);
      if (removed) storage.remove(space, removed.key);
      if (!put) continue;
      storage.put(space, put.key, put.entry === after && json ? json : JSON.stringify(put.entry));
    }
    expiry.note(change);
    streams.append(change, identity);
  }

  return (changes, { identity, also } = {}) => {
    const real = changes.filter(isReal);
    if (real.length === 0 && !also) return;
    try {
      atomically(storage.database, () => {
        for (const change of real) apply(change, identity);
        also?.();
      });
    } catch (error) {
      streams.reload();
      throw error;
    }
  };
}

/** Putting what is there already, or deleting what is not, changes nothing and makes no stream record. */
function isReal({ before, after }: Change): boolean {
  if (!before || !after) return before !== after;
  return !sameItem(before, after);
}
