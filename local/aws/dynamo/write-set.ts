import { AwsError } from '../kit/aws-error.ts';
import type { Callback, DynaliteItems, DynaliteStore, KeyRange } from './dynalite-types.ts';
import type { Change, Item, Table } from './model.ts';
import { type Storage, spaceOf } from './storage.ts';

/** DynamoDB's limit for an item, in bytes. */
export const MAX_ITEM_BYTES = 409_600;

/**
 * The storage that dynalite's actions see: reads come from storage, writes are only collected. Dropping the
 * set undoes them; committing it is one transaction (`commit.ts`).
 */
export class WriteSet implements DynaliteStore {
  readonly options = { maxItemSize: MAX_ITEM_BYTES };
  private readonly storage: Storage;
  /** What was there, by item, as it was first read. */
  private readonly read = new Map<string, Item | undefined>();
  private readonly written = new Map<string, Change>();

  constructor(storage: Storage) {
    this.storage = storage;
  }

  /** In the order of the first write to each item. */
  changes(): Change[] {
    return [...this.written.values()];
  }

  /** Throws ResourceNotFoundException. */
  table(name: string): Table {
    const stored = this.storage.table(name);
    if (stored) return stored.table;
    throw new AwsError('ResourceNotFoundException', 'Requested resource not found');
  }

  readItem(table: string, key: string): Item | undefined {
    const id = `${table}~${key}`;
    const change = this.written.get(id);
    return change ? change.after : this.before(id, table, key);
  }

  getTable(name: string, ...rest: [Callback<Table>] | [boolean, Callback<Table>]): void {
    const callback = rest.length === 2 ? rest[1] : rest[0];
    let table: Table;
    try {
      table = this.table(name);
    } catch (error) {
      callback(error);
      return;
    }
    callback(null, table);
  }

  getItemDb(name: string): DynaliteItems {
    return {
      // One request runs at a time, from its first read to its commit.
      lock: (_key, locked) => locked((callback) => callback),
      get: (key, callback) => callback(null, this.readItem(name, key)),
      put: (key, item, callback) => {
        this.write(name, key, item);
        callback(null);
      },
      del: (key, callback) => {
        this.write(name, key, undefined);
        callback(null);
      },
    };
  }

  /** Queries never run on a set that has writes, so there is nothing to merge. */
  range(table: string, index: string | undefined, range: KeyRange): Iterable<Item> {
    if (this.written.size > 0) throw new Error('a query cannot see writes not yet committed');
    return this.storage.range(spaceOf(table, index), range);
  }

  private write(name: string, key: string, after: Item | undefined): void {
    const id = `${name}~${key}`;
    const before = this.before(id, name, key);
    this.written.set(id, { table: this.table(name), key, before, after });
  }

  private before(id: string, table: string, key: string): Item | undefined {
    if (this.read.has(id)) return this.read.get(id);
    const item = this.storage.get(spaceOf(table), key);
    this.read.set(id, item);
    return item;
  }
}
