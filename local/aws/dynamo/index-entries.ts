import type { DynaliteDb } from './dynalite-types.ts';
import {
  type Change,
  type IndexDescription,
  type IndexKind,
  type Item,
  indexesOf,
  type KeySchemaElement,
  type Table,
} from './model.ts';
import { sameItem, sameValue } from './values.ts';

/** What a change does to one index: the entry it removes and the one it puts, either of which may be absent. */
interface IndexEntryChange {
  readonly index: string;
  readonly kind: IndexKind;
  readonly removed: { readonly key: string; readonly entry: Item } | undefined;
  readonly put: { readonly key: string; readonly entry: Item } | undefined;
}

/** The key of an item's entry in an index: in index order, then by the item's own key, so always its own. */
export function indexKeyOf(
  db: DynaliteDb,
  table: Table,
  keySchema: readonly KeySchemaElement[],
  item: Item,
): string {
  return db.createKey(item, table, keySchema) + db.createKey(item, table);
}

/** The index entries a change touches. An entry that stays as it is is left out. */
export function indexEntryChanges(db: DynaliteDb, change: Change): IndexEntryChange[] {
  const { table, before, after } = change;
  const changes: IndexEntryChange[] = [];
  for (const { kind, index } of indexesOf(table)) {
    if (before && after && sameProjection(table, index, before, after)) continue;
    const old = before && entryOf(db, change, index, before);
    const put = after && entryOf(db, change, index, after);
    if (!old && !put) continue;
    // An entry that keeps its key is overwritten, not removed and put.
    const removed = old && old.key !== put?.key ? old : undefined;
    changes.push({ index: index.IndexName, kind, removed, put });
  }
  return changes;
}

/** Undefined when the item lacks one of the index's key attributes: indexes are sparse. */
function entryOf(
  db: DynaliteDb,
  { table, key }: Change,
  index: IndexDescription,
  item: Item,
): { key: string; entry: Item } | undefined {
  if (index.KeySchema.some(({ AttributeName }) => item[AttributeName] === undefined)) {
    return undefined;
  }
  return {
    // As indexKeyOf, whose second part is known.
    key: db.createKey(item, table, index.KeySchema) + key,
    entry: projection(table, index, item),
  };
}

function projection(table: Table, index: IndexDescription, item: Item): Item {
  if (index.Projection.ProjectionType === 'ALL') return item;
  const entry: Item = {};
  for (const name of projectedNames(table, index)) {
    const value = item[name];
    if (value) entry[name] = value;
  }
  return entry;
}

function projectedNames(table: Table, index: IndexDescription): string[] {
  const keys = [...table.KeySchema, ...index.KeySchema].map((key) => key.AttributeName);
  return [...keys, ...(index.Projection.NonKeyAttributes ?? [])];
}

/** Whether two images of an item have the same entry in an index, or none: what the index does not hold may differ. */
function sameProjection(table: Table, index: IndexDescription, before: Item, after: Item): boolean {
  if (index.Projection.ProjectionType === 'ALL') return sameItem(before, after);
  return projectedNames(table, index).every((name) => {
    const [old, put] = [before[name], after[name]];
    return old === put || (old !== undefined && put !== undefined && sameValue(old, put));
  });
}
