import type { KeyRange } from './dynalite-types.ts';
import type { Item, StreamView, Table } from './model.ts';

/** What is kept about a table. `ttlAttribute` is set while Time to Live is enabled. */
export interface StoredTable {
  readonly table: Table;
  readonly protected: boolean;
  readonly ttlAttribute: string | undefined;
}

export interface Tag {
  readonly Key: string;
  readonly Value: string;
}

/** Where the items of a table, or the entries of one of its indexes, are kept. */
export function spaceOf(table: string, index?: string): string {
  // Neither kind of name can contain "~".
  return index === undefined ? table : `${table}~${index}`;
}

/** The spaces of a table: its own and that of each index. */
export function spacesOf({
  TableName,
  GlobalSecondaryIndexes = [],
  LocalSecondaryIndexes = [],
}: Table): string[] {
  const indexes = [...GlobalSecondaryIndexes, ...LocalSecondaryIndexes];
  return [spaceOf(TableName), ...indexes.map(({ IndexName }) => spaceOf(TableName, IndexName))];
}

/**
 * The tables and their items. Only {@link Storage.atomically} begins and ends a transaction, so that all which
 * belongs together, in the other stores too, lands together. Items that are read must not be changed.
 */
export interface Storage {
  /**
   * Runs `work`, which must be synchronous, in one transaction: all it writes lands or none. Within another one it
   * lands with that, and if it throws, only its own writes are undone.
   */
  atomically<T>(work: () => T): T;
  table(name: string): StoredTable | undefined;
  tableNames(): string[];
  putTable(stored: StoredTable): void;
  /** Reads the tables again, after a transaction that changed them was rolled back. */
  reload(): void;
  putTags(table: string, tags: readonly Tag[]): void;
  removeTags(table: string, keys: readonly string[]): void;
  tags(table: string): Tag[];
  /** Removes the table with its items, index entries and tags. */
  deleteTable(name: string): void;
  /** An item or index entry. */
  get(space: string, key: string): Item | undefined;
  put(space: string, key: string, value: Item): void;
  remove(space: string, key: string): void;
  /** The values within a key range, in its order. To be read to its end, or left, in one go. */
  range(space: string, range: KeyRange): Iterable<Item>;
  /** How many items there are in a space, and the bytes of their JSON. */
  measure(space: string): { readonly count: number; readonly bytes: number };
}

export interface Stream {
  readonly arn: string;
  readonly label: string;
  readonly tableName: string;
  readonly keySchema: Table['KeySchema'];
  readonly view: StreamView;
  /** Where the stream begins now: records up to this sequence are gone. */
  readonly trimmedTo: number;
  /** Epoch milliseconds, once it is disabled or its table deleted; it stays readable for a day. */
  readonly endedAt: number | undefined;
}

export interface StoredRecord {
  readonly sequence: number;
  /** The record as GetRecords answers it. */
  readonly record: object;
  /** The length of its JSON. */
  readonly bytes: number;
}

/** The streams and their records. */
export interface StreamStore {
  /** The streams in the order they were made, and the highest sequence ever used, by any of them. */
  load(): { readonly streams: Stream[]; readonly lastUsed: number };
  put(stream: Stream): void;
  /** Forgets a stream and its records. */
  forget(arn: string): void;
  append(arn: string, sequence: number, record: object): void;
  /** At most `limit` records after a sequence, in order. */
  after(arn: string, sequence: number, limit: number): Iterable<StoredRecord>;
  /** The sequence of the n-th newest record, counted from 0. */
  nthNewest(arn: string, n: number): number | undefined;
  /** Removes the records up to a sequence. */
  trim(arn: string, sequence: number): void;
}

/** When items expire, in epoch seconds. */
export interface ExpiryStore {
  put(table: string, key: string, expiresAt: number): void;
  remove(table: string, key: string): void;
  forget(table: string): void;
  /** The keys of at most `limit` items which expire between two times (exclusive), the oldest first. */
  expiring(table: string, from: number, until: number, limit: number): string[];
}

/** What client request tokens stood for. */
export interface TokenStore {
  /** The digest of what was committed with a token later than `since`. */
  find(token: string, since: number): string | undefined;
  put(token: string, digest: string, committedAt: number): void;
  forgetUntil(committedAt: number): void;
}

/** Everything that is kept. All of it takes part in {@link Storage.atomically}. */
export interface Stores {
  readonly storage: Storage;
  readonly streams: StreamStore;
  readonly expiry: ExpiryStore;
  readonly tokens: TokenStore;
}
