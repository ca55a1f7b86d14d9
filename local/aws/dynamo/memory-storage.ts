import type { KeyRange } from './dynalite-types.ts';
import { partitionOf } from './keys.ts';
import type { Item } from './model.ts';
import { type Storage, type StoredTable, spacesOf } from './storage.ts';

/** Keys in their order. Inserting moves what is behind, which for the sizes of a simulation is cheaper than a tree. */
class SortedKeys {
  readonly #keys: string[] = [];

  add(key: string): void {
    const last = this.#keys.at(-1);
    if (last === undefined || key > last) this.#keys.push(key);
    else this.#keys.splice(this.#firstFrom(key), 0, key);
  }

  remove(key: string): void {
    const at = this.#firstFrom(key);
    if (this.#keys[at] === key) this.#keys.splice(at, 1);
  }

  within({ gt, gte, lt, lte }: KeyRange): readonly string[] {
    const from = Math.max(
      gte === undefined ? 0 : this.#firstFrom(gte),
      gt === undefined ? 0 : this.#firstAfter(gt),
    );
    const until = Math.min(
      lt === undefined ? this.#keys.length : this.#firstFrom(lt),
      lte === undefined ? this.#keys.length : this.#firstAfter(lte),
    );
    return this.#keys.slice(from, until);
  }

  #firstFrom(key: string): number {
    return this.#first((other) => other >= key);
  }

  #firstAfter(key: string): number {
    return this.#first((other) => other > key);
  }

  #first(holds: (key: string) => boolean): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (holds(this.#keys[middle] ?? '')) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Values by key. Keys are sorted within their partition, since all but a scan stays in one. */
class Space {
  readonly values = new Map<string, Item>();
  readonly #partitions = new Map<string, SortedKeys>();

  put(key: string, value: Item): void {
    if (!this.values.has(key)) this.#partition(partitionOf(key)).add(key);
    this.values.set(key, value);
  }

  remove(key: string): void {
    if (this.values.delete(key)) this.#partition(partitionOf(key)).remove(key);
  }

  *range(range: KeyRange): Generator<Item> {
    const keys = this.#partitionsOf(range).flatMap((partition) => partition.within(range));
    for (const key of range.reverse ? keys.reverse() : keys) {
      const value = this.values.get(key);
      if (value) yield value;
    }
  }

  /** In order. */
  #partitionsOf({ gt, gte, lt, lte }: KeyRange): SortedKeys[] {
    const [from, until] = [gte ?? gt, lt ?? lte].map((key) => key && partitionOf(key));
    if (from && from === until) return [this.#partition(from)];
    return [...this.#partitions.keys()].sort().map((name) => this.#partition(name));
  }

  #partition(name: string): SortedKeys {
    let keys = this.#partitions.get(name);
    if (!keys) {
      keys = new SortedKeys();
      this.#partitions.set(name, keys);
    }
    return keys;
  }
}

/**
 * Tables and items in memory. A transaction is what runs without giving way; nothing undoes half of one whose
 * code throws, so that has to be taken for a fault of ours.
 */
export function memoryStorage(): Storage {
  const tables = new Map<string, StoredTable>();
  const tags = new Map<string, Map<string, string>>();
  const spaces = new Map<string, Space>();
  const spaceFor = (name: string): Space => {
    let space = spaces.get(name);
    if (!space) {
      space = new Space();
      spaces.set(name, space);
    }
    return space;
  };
  const tagsFor = (table: string): Map<string, string> => {
    const known = tags.get(table) ?? new Map<string, string>();
    tags.set(table, known);
    return known;
  };
  return {
    atomically: (work) => work(),
    reload: () => undefined,
    table: (name) => tables.get(name),
    tableNames: () => [...tables.keys()].sort(),
    putTable: (stored) => void tables.set(stored.table.TableName, stored),
    deleteTable(name) {
      const table = tables.get(name)?.table;
      for (const space of table ? spacesOf(table) : []) spaces.delete(space);
      tags.delete(name);
      tables.delete(name);
    },
    putTags(table, added) {
      for (const { Key, Value } of added) tagsFor(table).set(Key, Value);
    },
    removeTags(table, keys) {
      for (const key of keys) tagsFor(table).delete(key);
    },
    tags: (table) =>
      [...tagsFor(table)]
        .map(([Key, Value]) => ({ Key, Value }))
        .sort((left, right) => (left.Key < right.Key ? -1 : 1)),
    get: (space, key) => spaces.get(space)?.values.get(key),
    put: (space, key, value) => spaceFor(space).put(key, value),
    remove: (space, key) => spaces.get(space)?.remove(key),
    range: (space, range) => spaceFor(space).range(range),
    measure(name) {
      const values = [...spaceFor(name).values.values()];
      const bytes = values.map((value) => Buffer.byteLength(JSON.stringify(value)));
      return { count: values.length, bytes: bytes.reduce((sum, size) => sum + size, 0) };
    },
  };
}
