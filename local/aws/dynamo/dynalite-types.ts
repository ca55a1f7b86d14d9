import type { AttributeValue, Item, KeySchemaElement, Table } from './model.ts';

/** The parts of dynalite's modules that we use, as far as we use them; it has no types of its own. */

export const DYNALITE_ACTIONS = [
  'BatchGetItem',
  'BatchWriteItem',
  'DeleteItem',
  'GetItem',
  'PutItem',
  'Query',
  'Scan',
  'UpdateItem',
] as const;

/** Operations of which only the checks are used. */
export const DYNALITE_CHECKS = [
  'CreateTable',
  'DeleteTable',
  'DescribeTable',
  'ListTables',
  'ListTagsOfResource',
  'TagResource',
  'UntagResource',
  'UpdateTable',
] as const;

export type DynaliteAction = (typeof DYNALITE_ACTIONS)[number];
export type DynaliteOperation = DynaliteAction | (typeof DYNALITE_CHECKS)[number];

/** A request after its checks: the input's known fields, and its parsed expressions under `_names`. */
export interface DynaliteRequest {
  TableName: string;
  Item?: Item;
  Key?: Item;
  ReturnConsumedCapacity?: ReturnConsumedCapacity;
  ConsistentRead?: boolean;
  Limit?: number;
  IndexName?: string;
  _condition?: { readonly expression: Expression };
  _filter?: { readonly expression: Expression };
  _projection?: { readonly paths: readonly Path[] };
  _updates?: { sections: UpdateSection[] };
  // biome-ignore lint/suspicious/noExplicitAny: fields particular to one operation, checked by dynalite
  [field: string]: any;
}

export type ReturnConsumedCapacity = 'TOTAL' | 'INDEXES' | 'NONE';

// biome-ignore lint/suspicious/noExplicitAny: the wire shape belongs to each operation
export type DynaliteAnswer = Record<string, any>;

export type Path = readonly (string | number)[];

/** A node of a parsed expression: an operator or function. */
export interface Expression {
  readonly type: string;
  readonly name?: string;
  readonly args: readonly Operand[];
}

/** Also what an operand can be: a path into the item, or a literal. */
export type Operand = Expression | Path | AttributeValue;

export interface UpdateSection {
  readonly type: 'set' | 'remove' | 'add' | 'delete';
  readonly path: Path;
  readonly val?: Operand;
}

export type Callback<T> = (error: unknown, value?: T) => void;

/** What dynalite's actions ask of storage. Every method here calls back before it returns. */
export interface DynaliteStore {
  readonly options: { readonly maxItemSize: number };
  getTable(name: string, ...rest: [Callback<Table>] | [boolean, Callback<Table>]): void;
  getItemDb(table: string): DynaliteItems;
  /** For our `queryTable`: what lies within a key range, in order, of an index or of the table itself. */
  range(table: string, index: string | undefined, range: KeyRange): Iterable<Item>;
  readItem(table: string, key: string): Item | undefined;
}

export interface DynaliteItems {
  lock(key: string, locked: (release: <F>(callback: F) => F) => void): void;
  get(key: string, callback: Callback<Item>): void;
  put(key: string, item: Item, callback: Callback<void>): void;
  del(key: string, callback: Callback<void>): void;
}

export interface KeyRange {
  readonly gt?: string;
  readonly gte?: string;
  readonly lt?: string;
  readonly lte?: string;
  readonly reverse?: boolean;
}

/** dynalite's `db` module. */
export interface DynaliteDb {
  createKey(item: Item, table: Table, keySchema?: readonly KeySchemaElement[]): string;
  createIndexKey(item: Item, table: Table, keySchema: readonly KeySchemaElement[]): string;
  /** Answers (does not throw) an error. */
  validateKey(key: Item, table: Table): unknown;
  itemSize(item: Item, compress?: boolean, addMetaSize?: boolean, rangeKey?: string): number;
  mapPath(path: Path, item: Item): AttributeValue | null | undefined;
  mapPaths(paths: readonly (Path | string)[], item: Item): Item;
  /** The start of a key: a few digits of a hash, since DynamoDB keeps no order between partitions. */
  hashPrefix(value: string, type: 'S' | 'N' | 'B'): string;
  toRangeStr(value: string, type: 'S' | 'N' | 'B'): string;
  /** A string that sorts as the value does. */
  toLexiStr(value: string, type: 'N' | 'B'): string;
  matchesFilter(item: Item, filter: unknown, operator: string | undefined): boolean;
  /** Answers (does not throw) an error. */
  checkConditional(request: DynaliteRequest, item: Item | undefined): unknown;
  updateIndexes(
    store: DynaliteStore,
    table: Table,
    before: Item | undefined,
    after: Item | undefined,
    callback: Callback<void>,
  ): void;
  queryTable(
    store: DynaliteStore,
    table: Table,
    request: DynaliteRequest,
    range: KeyRange,
    isLocal: boolean | undefined,
    fetchFromTable: boolean,
    startKeyNames: readonly string[],
    callback: Callback<DynaliteAnswer>,
  ): void;
}

/** One of dynalite's `validations` modules. */
export interface RequestChecks {
  readonly types: Readonly<Record<string, unknown>>;
  readonly custom?: unknown;
}

/** dynalite's `validations` index. */
export interface DynaliteValidations {
  checkTypes(input: object, types: object): DynaliteRequest;
  checkValidations(
    request: DynaliteRequest,
    types: object,
    custom: unknown,
    store: DynaliteStore,
  ): void;
  /** Answers what is wrong, if anything; writes numbers in their plain form. */
  validateAttributeValue(value: AttributeValue): string | undefined;
}

/** One of dynalite's `actions` modules. */
export type DynaliteActionModule = (
  store: DynaliteStore,
  request: DynaliteRequest,
  callback: Callback<DynaliteAnswer>,
) => void;
