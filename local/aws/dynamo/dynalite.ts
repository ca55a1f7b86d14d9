import { createRequire } from 'node:module';
import { AwsError } from '../kit/aws-error.ts';
import { meetsCondition } from './condition.ts';
import {
  type Callback,
  DYNALITE_ACTIONS,
  DYNALITE_CHECKS,
  type DynaliteAction,
  type DynaliteActionModule,
  type DynaliteAnswer,
  type DynaliteDb,
  type DynaliteOperation,
  type DynaliteRequest,
  type DynaliteStore,
  type DynaliteValidations,
  type RequestChecks,
} from './dynalite-types.ts';
import { toAwsError } from './dynamo-error.ts';
import { indexKeyOf } from './index-entries.ts';
import { keyEncoder } from './keys.ts';
import type { Item } from './model.ts';
import { cacheParses, type ExpressionParser } from './parse-cache.ts';
import { copyOfPlain, isPlainlyValid } from './plain-values.ts';
import { queryTable } from './query-table.ts';
import { sizeOfItem } from './values.ts';

/**
 * dynalite, used through its own modules rather than its server: its validations and expression parsers
 * (which its authors checked against AWS), its key encoding, and its item actions. Storage is ours and
 * answers before it returns, so every action runs to its end without giving way: no request can see half of
 * another, and what an action read is still true when its writes are committed.
 */
export interface Dynalite {
  readonly db: DynaliteDb;
  /** dynalite's own, of what was replaced only to be faster: ours has to agree with it. */
  readonly originals: Pick<DynaliteDb, 'createKey' | 'itemSize'> &
    Pick<DynaliteValidations, 'validateAttributeValue'>;
  readonly validateAttributeValue: DynaliteValidations['validateAttributeValue'];
  /** Checks the form of a request as AWS does and parses its expressions; throws an `AwsError`. */
  parse(operation: DynaliteOperation, input: object, store: DynaliteStore): DynaliteRequest;
  /** Runs a parsed request; throws an `AwsError`. */
  run(operation: DynaliteAction, store: DynaliteStore, request: DynaliteRequest): DynaliteAnswer;
}

let loaded: Dynalite | undefined;

/** Loads dynalite's modules, once, and replaces the parts that {@link replaceParts} lists. */
export function loadDynalite(): Dynalite {
  loaded ??= load();
  return loaded;
}

function load(): Dynalite {
  const require = createRequire(import.meta.url);
  const db = require('dynalite/db') as DynaliteDb;
  const validations = require('dynalite/validations') as DynaliteValidations;
  const modulesOf = <T>(folder: string, operations: readonly string[]) =>
    new Map<string, T>(
      operations.map((name) => [
        name,
        require(`dynalite/${folder}/${name.charAt(0).toLowerCase()}${name.slice(1)}`),
      ]),
    );
  const checks = modulesOf<RequestChecks>('validations', [...DYNALITE_ACTIONS, ...DYNALITE_CHECKS]);
  const actions = modulesOf<DynaliteActionModule>('actions', DYNALITE_ACTIONS);
  const { createKey, itemSize } = db;
  const { validateAttributeValue } = validations;
  replaceParts(db);
  speedUp(db, validations);
  for (const kind of ['condition', 'projection', 'update']) {
    cacheParses(require(`dynalite/db/${kind}Parser`) as ExpressionParser);
  }
  return {
    db,
    originals: { createKey, itemSize, validateAttributeValue },
    validateAttributeValue: validations.validateAttributeValue,
    parse(operation, input, store) {
      const { types, custom } = present(checks.get(operation), operation);
      try {
        const request = checkTypes(validations, input, types);
        validations.checkValidations(request, types, custom, store);
        return request;
      } catch (error) {
        throw toAwsError(error);
      }
    },
    run(operation, store, request) {
      const action = present(actions.get(operation), operation);
      return answerOf((callback) => action(store, request, callback));
    },
  };
}

/** Fields that hold nothing but attribute values. */
const VALUE_FIELDS = ['Item', 'Key', 'ExpressionAttributeValues', 'ExclusiveStartKey'] as const;

function checkTypes(
  validations: DynaliteValidations,
  input: object,
  types: RequestChecks['types'],
): DynaliteRequest {
  // dynalite deletes the fields it does not know from the object it is given.
  const rest: Record<string, unknown> = { ...input };
  const plain: Record<string, Item> = {};
  for (const field of VALUE_FIELDS) {
    const copy = types[field] && rest[field] ? copyOfPlain(rest[field]) : undefined;
    if (!copy) continue;
    plain[field] = copy;
    rest[field] = {};
  }
  return Object.assign(validations.checkTypes(rest, types), plain);
}

function present<T>(module: T | undefined, name: string): T {
  if (!module) throw new Error(`dynalite has no ${name}`);
  return module;
}

/** What a function in the callback style answers; it has to have answered when it returns. */
function answerOf<T>(run: (callback: Callback<T>) => void): T {
  let outcome: { error: unknown; value: T | undefined } | undefined;
  run((error, value) => {
    outcome ??= { error, value };
  });
  if (!outcome) throw new Error('dynalite did not answer at once: requests could interleave');
  if (outcome.error) throw toAwsError(outcome.error);
  return outcome.value as T;
}

/**
 * What is replaced in dynalite, and why:
 * - index keys end in 24 bits of a hash, so among 5,000 items with one index key it is more likely than not
 *   that two share an entry and one vanishes from the index;
 * - conditions never find two lists or maps equal, and take `false` and `''` for absent in some operators;
 * - indexes are written by `commit.ts`, in one transaction with the item;
 * - queries stream asynchronously; ours read storage at one instant.
 */
function replaceParts(db: DynaliteDb): void {
  const checkLegacyConditions = db.checkConditional;
  db.createIndexKey = (item, table, keySchema) => indexKeyOf(db, table, keySchema, item);
  db.checkConditional = (request, item) => {
    if (!request._condition) return checkLegacyConditions(request, item);
    if (meetsCondition(db, request._condition.expression, item ?? {})) return null;
    return new AwsError('ConditionalCheckFailedException', 'The conditional request failed');
  };
  db.updateIndexes = (_store, _table, _before, _after, callback) => callback(null);
  db.queryTable = (store, table, request, range, _isLocal, fetchFromTable, startKeyNames, answer) =>
    answer(null, queryTable({ db, store, table, request, range, fetchFromTable, startKeyNames }));
}

/** Replaces what takes most of the time by what answers the same; the parsers are in `parse-cache.ts`. */
function speedUp(db: DynaliteDb, validations: DynaliteValidations): void {
  const { itemSize } = db;
  const { validateAttributeValue } = validations;
  db.createKey = keyEncoder({ hashPrefix: db.hashPrefix, toRangeStr: db.toRangeStr });
  // dynalite asks for the plain size, to compare it with the limit, only when an item has its final form.
  db.itemSize = (item, ...how) => (how.length > 0 ? itemSize(item, ...how) : sizeOfItem(item));
  validations.validateAttributeValue = (value) =>
    isPlainlyValid(value) ? undefined : validateAttributeValue(value);
}
