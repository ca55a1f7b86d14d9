import type { DynaliteDb } from './dynalite-types.ts';
import type { Expiry } from './expiry.ts';
import { indexEntryChanges } from './index-entries.ts';
import type { Change, UserIdentity } from './model.ts';
import { type Storage, spaceOf } from './storage.ts';
import type { Streams } from './streams.ts';
import { sameItem } from './values.ts';

/**
 * Makes changes durable: items, index entries, expiries, stream records, and whatever `also` writes, in ONE
 * transaction of the storage. A process that is killed at any moment has done all of it or nothing, so there is
 * nothing to repair when it starts again.
 */
export type Commit = (
  changes: readonly Change[],
  options?: { readonly identity?: UserIdentity; readonly also?: () => void },
) => void;

/**
 * Writes an item's entry of a global index: within the commit, or later, as AWS does. What is written later for
 * one `item` (its table and key) has to keep its order.
 */
export type IndexWriter = (item: string, write: () => void) => void;

export function committer(parts: {
  db: DynaliteDb;
  storage: Storage;
  streams: Streams;
  expiry: Expiry;
  writeIndex: IndexWriter;
}): Commit {
  const { db, storage, streams, expiry, writeIndex } = parts;

  function apply(change: Change, identity: UserIdentity | undefined): void {
    const { table, key, after } = change;
    if (after) storage.put(spaceOf(table.TableName), key, after);
    else storage.remove(spaceOf(table.TableName), key);
    for (const { index, kind, removed, put } of indexEntryChanges(db, change)) {
      const space = spaceOf(table.TableName, index);
      const write = () => {
        if (removed) storage.remove(space, removed.key);
        if (put) storage.put(space, put.key, put.entry);
      };
      if (kind === 'Global') writeIndex(`${table.TableName}~${key}`, write);
      else write();
    }
    expiry.note(change);
    streams.append(change, identity);
  }

  return (changes, { identity, also } = {}) => {
    const real = changes.filter(isReal);
    if (real.length === 0 && !also) return;
    try {
      storage.atomically(() => {
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
