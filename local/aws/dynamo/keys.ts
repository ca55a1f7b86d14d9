import type { DynaliteDb } from './dynalite-types.ts';
import type { AttributeValue, Item, KeySchemaElement, Table } from './model.ts';

type KeyType = 'S' | 'N' | 'B';

/** Partition keys whose encoding is remembered: it has a hash in it. */
const MAX_PARTITIONS = 20_000;

/**
 * dynalite's `createKey`: the same encoding, without looking for the types of attributes and hashing partition keys
 * again at every call.
 */
export function keyEncoder(
  db: Pick<DynaliteDb, 'hashPrefix' | 'toRangeStr'>,
): DynaliteDb['createKey'] {
  const types = new WeakMap<Table, ReadonlyMap<string, KeyType>>();
  const partitions = new Map<string, string>();

  function typesOf(table: Table): ReadonlyMap<string, KeyType> {
    const known = types.get(table);
    if (known) return known;
    const { AttributeDefinitions: definitions } = table;
    const read = new Map(definitions.map((one) => [one.AttributeName, one.AttributeType]));
    types.set(table, read);
    return read;
  }

  function partition(value: string, type: KeyType): string {
    const id = type + value;
    const known = partitions.get(id);
    if (known !== undefined) return known;
    const encoded = `${db.hashPrefix(value, type)}/${db.toRangeStr(value, type)}/`;
    if (partitions.size >= MAX_PARTITIONS) partitions.clear();
    partitions.set(id, encoded);
    return encoded;
  }

  return (item: Item, table: Table, schema: readonly KeySchemaElement[] = table.KeySchema) => {
    const read = typesOf(table);
    let key = '';
    for (const { AttributeName: name } of schema) {
      const type = read.get(name) as KeyType;
      const value = (item[name] as AttributeValue)[type] as string;
      key += key === '' ? partition(value, type) : `${db.toRangeStr(value, type)}/`;
    }
    return key;
  };
}

/** Where a key's partition ends: the part that all items of one partition share. */
export function partitionOf(key: string): string {
  // A hash of six digits, the partition key in hexadecimal (or a number's form), each with a slash behind it.
  return key.slice(0, key.indexOf('/', 7) + 1);
}
