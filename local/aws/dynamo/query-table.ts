import { meetsCondition } from './condition.ts';
import type {
  DynaliteAnswer,
  DynaliteDb,
  DynaliteRequest,
  DynaliteStore,
  KeyRange,
} from './dynalite-types.ts';
import type { Item, Table } from './model.ts';

const PAGE_BYTES = 1024 * 1024;
const READ_UNIT_BYTES = 4096;

interface TableQuery {
  readonly db: DynaliteDb;
  readonly store: DynaliteStore;
  readonly table: Table;
  readonly request: DynaliteRequest;
  readonly range: KeyRange;
  /** A local index that lacks attributes which were asked for: they are read from the table. */
  readonly fetchFromTable: boolean;
  /** The attributes that make a LastEvaluatedKey. */
  readonly startKeyNames: readonly string[];
}

/** Answers a Query or Scan: one page of at most `Limit` items or about 1 MB, then its filter and projection. */
export function queryTable(query: TableQuery): DynaliteAnswer {
  const { request } = query;
  const page = readPage(query);
  const kept = page.read.filter((item) => passesFilter(query, item));
  const answer: DynaliteAnswer = { Count: kept.length, ScannedCount: page.read.length };
  if (request.Select !== 'COUNT') answer.Items = kept.map((item) => projected(query, item));
  const last = page.read.at(-1);
  if (page.full && last) {
    answer.LastEvaluatedKey = Object.fromEntries(
      query.startKeyNames.map((name) => [name, last[name]]),
    );
  }
  const capacity = consumedCapacity(request, page.storedBytes);
  if (capacity) answer.ConsumedCapacity = capacity;
  return answer;
}

interface Page {
  readonly read: readonly Item[];
  /** There may be more: the page ended at its limit, not at the end of the range. */
  readonly full: boolean;
  readonly storedBytes: number;
}

function readPage(query: TableQuery): Page {
  const { db, store, request, table } = query;
  const limit = request.Limit ?? Number.POSITIVE_INFINITY;
  const rangeKey = table.KeySchema[1]?.AttributeName;
  const read: Item[] = [];
  let pageBytes = 0;
  let storedBytes = 0;
  for (const item of store.range(table.TableName, request.IndexName, query.range)) {
    read.push(query.fetchFromTable ? fullItem(query, item) : item);
    // How DynamoDB counts towards the page, with its overheads, is not how it counts an item's size.
    pageBytes += db.itemSize(item, true, true, rangeKey);
    if (request.ReturnConsumedCapacity) storedBytes += db.itemSize(item);
    if (read.length >= limit || pageBytes >= PAGE_BYTES) return { read, full: true, storedBytes };
  }
  return { read, full: false, storedBytes };
}

function fullItem({ db, store, table }: TableQuery, entry: Item): Item {
  const key = db.createKey(entry, table);
  const item = store.readItem(table.TableName, key);
  if (!item) throw new Error(`an index of ${table.TableName} has an entry without an item: ${key}`);
  return item;
}

function passesFilter({ db, request }: TableQuery, item: Item): boolean {
  if (request._filter) return meetsCondition(db, request._filter.expression, item);
  const legacy = request.QueryFilter ?? request.ScanFilter;
  return legacy ? db.matchesFilter(item, legacy, request.ConditionalOperator) : true;
}

function projected({ db, request }: TableQuery, item: Item): Item {
  const paths = request._projection?.paths ?? request.AttributesToGet;
  return paths ? db.mapPaths(paths, item) : item;
}

function consumedCapacity(request: DynaliteRequest, bytes: number): DynaliteAnswer | undefined {
  const { ReturnConsumedCapacity: wanted, TableName, IndexName } = request;
  if (wanted !== 'TOTAL' && wanted !== 'INDEXES') return undefined;
  const units =
    Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES)) * (request.ConsistentRead ? 1 : 0.5);
  if (wanted === 'TOTAL') return { TableName, CapacityUnits: units };
  if (!IndexName) return { TableName, CapacityUnits: units, Table: { CapacityUnits: units } };
  return {
    TableName,
    CapacityUnits: units,
    Table: { CapacityUnits: 0 },
    GlobalSecondaryIndexes: { [IndexName]: { CapacityUnits: units } },
  };
}
