import type { DynaliteDb, ReturnConsumedCapacity } from './dynalite-types.ts';
import { indexEntryChanges } from './index-entries.ts';
import type { Change, Item } from './model.ts';
import { sizeOfItem } from './values.ts';

const WRITE_UNIT_BYTES = 1024;
const READ_UNIT_BYTES = 4096;

interface Units {
  table: number;
  readonly Global: Map<string, number>;
  readonly Local: Map<string, number>;
}

/**
 * The write units of changes, by table, as `ReturnConsumedCapacity` asks: the larger of both images for the
 * item, and for each index the entries removed and put. A transaction costs twice that. Undefined when
 * nothing was asked.
 */
export function writeCapacity(
  db: DynaliteDb,
  changes: readonly Change[],
  wanted: ReturnConsumedCapacity | undefined,
  factor = 1,
): object[] | undefined {
  if (wanted !== 'TOTAL' && wanted !== 'INDEXES') return undefined;
  const byTable = new Map<string, Units>();
  for (const change of changes) {
    const units = unitsOf(byTable, change.table.TableName);
    units.table += factor * writeUnits(change.before, change.after);
    for (const { index, kind, removed, put } of indexEntryChanges(db, change)) {
      const used = (removed ? writeUnits(removed.entry) : 0) + (put ? writeUnits(put.entry) : 0);
      units[kind].set(index, (units[kind].get(index) ?? 0) + factor * used);
    }
  }
  return [...byTable].map(([name, units]) => report(name, units, wanted));
}

/** The read units of items read one by one in a transaction, by table. */
export function transactionReadCapacity(
  reads: readonly { readonly table: string; readonly item: Item | undefined }[],
  wanted: ReturnConsumedCapacity | undefined,
): object[] | undefined {
  if (wanted !== 'TOTAL' && wanted !== 'INDEXES') return undefined;
  const byTable = new Map<string, Units>();
  for (const { table, item } of reads) {
    unitsOf(byTable, table).table += 2 * units(item ? sizeOfItem(item) : 0, READ_UNIT_BYTES);
  }
  return [...byTable].map(([name, units]) => report(name, units, wanted));
}

function writeUnits(...images: readonly (Item | undefined)[]): number {
  const sizes = images.map((image) => (image ? sizeOfItem(image) : 0));
  return units(Math.max(...sizes), WRITE_UNIT_BYTES);
}

function units(bytes: number, unit: number): number {
  return Math.max(1, Math.ceil(bytes / unit));
}

function unitsOf(byTable: Map<string, Units>, table: string): Units {
  const known = byTable.get(table);
  if (known) return known;
  const fresh: Units = { table: 0, Global: new Map(), Local: new Map() };
  byTable.set(table, fresh);
  return fresh;
}

function report(TableName: string, used: Units, wanted: ReturnConsumedCapacity): object {
  const indexes = [...used.Global.values(), ...used.Local.values()];
  const CapacityUnits = indexes.reduce((total, index) => total + index, used.table);
  if (wanted === 'TOTAL') return { TableName, CapacityUnits };
  return {
    TableName,
    CapacityUnits,
    Table: { CapacityUnits: used.table },
    ...(used.Global.size > 0 && { GlobalSecondaryIndexes: byIndex(used.Global) }),
    ...(used.Local.size > 0 && { LocalSecondaryIndexes: byIndex(used.Local) }),
  };
}

function byIndex(units: ReadonlyMap<string, number>): object {
  return Object.fromEntries([...units].map(([name, CapacityUnits]) => [name, { CapacityUnits }]));
}
