import { AwsError } from '../kit/aws-error.ts';
import type { Dynalite } from './dynalite.ts';
import type { DynaliteAnswer, DynaliteRequest, Operand, Path } from './dynalite-types.ts';
import { toAwsError, validationError } from './dynamo-error.ts';
import { type Item, indexesOf, type Table } from './model.ts';
import { prepareSections } from './update-sections.ts';
import { nestingOf, sizeOfItem } from './values.ts';
import { MAX_ITEM_BYTES, type WriteSet } from './write-set.ts';

export type WriteOperation = 'PutItem' | 'UpdateItem' | 'DeleteItem';

const MAX_NESTING = 32;

/** A write whose form has been checked. */
export interface ParsedWrite {
  readonly operation: WriteOperation | 'ConditionCheck';
  readonly request: DynaliteRequest;
  /** Whether a failed condition answers with the item that failed it. */
  readonly showsItemOnFailure: boolean;
}

/** Checks the form of a write; throws a ValidationException. `input` is not changed. */
export function parseWrite(
  dynalite: Dynalite,
  operation: ParsedWrite['operation'],
  input: Record<string, unknown>,
  set: WriteSet,
): ParsedWrite {
  const shows = input.ReturnValuesOnConditionCheckFailure ?? 'NONE';
  if (shows !== 'NONE' && shows !== 'ALL_OLD') {
    throw validationError(
      `1 validation error detected: Value '${shows}' at 'returnValuesOnConditionCheckFailure' failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, NONE]`,
    );
  }
  // A condition check has the form of a conditional delete.
  const form = operation === 'ConditionCheck' ? 'DeleteItem' : operation;
  const request = dynalite.parse(form, input, set);
  if (request.Item) checkItem(request.Item, 'Item size has exceeded the maximum allowed size');
  return { operation, request, showsItemOnFailure: shows === 'ALL_OLD' };
}

/**
 * Applies a write to the set. Throws ConditionalCheckFailedException, with the item as `extra.Item` when the
 * request asks for it, or ValidationException; the set must then not be committed.
 */
export function applyWrite(dynalite: Dynalite, write: ParsedWrite, set: WriteSet): DynaliteAnswer {
  const { operation, request } = write;
  const table = set.table(request.TableName);
  if (request.Item) checkIndexKeys(table, request.Item);
  try {
    if (operation === 'ConditionCheck') return checkCondition(dynalite, table, request, set);
    if (operation === 'UpdateItem') return applyUpdate(dynalite, table, request, set);
    return dynalite.run(operation, set, request);
  } catch (error) {
    if (!write.showsItemOnFailure || !isFailedCondition(error)) throw error;
    const Item = set.readItem(table.TableName, keyOf(dynalite, table, request));
    if (!Item) throw error;
    throw new AwsError(error.type, error.message, { extra: { Item } });
  }
}

function isFailedCondition(error: unknown): error is AwsError {
  return error instanceof AwsError && error.type === 'ConditionalCheckFailedException';
}

/** The place of the item a write is about. Throws a ValidationException when the key does not fit the table. */
export function keyOf(dynalite: Dynalite, table: Table, request: DynaliteRequest): string {
  if (request.Key) {
    const wrong = dynalite.db.validateKey(request.Key, table);
    if (wrong) throw toAwsError(wrong);
  }
  return dynalite.db.createKey(request.Key ?? request.Item ?? {}, table);
}

function checkCondition(
  dynalite: Dynalite,
  table: Table,
  request: DynaliteRequest,
  set: WriteSet,
): DynaliteAnswer {
  const key = keyOf(dynalite, table, request);
  const failed = dynalite.db.checkConditional(request, set.readItem(table.TableName, key));
  if (failed) throw toAwsError(failed);
  return {};
}

function applyUpdate(
  dynalite: Dynalite,
  table: Table,
  request: DynaliteRequest,
  set: WriteSet,
): DynaliteAnswer {
  const key = keyOf(dynalite, table, request);
  // dynalite builds a new item on this object: without a prototype, an attribute may be named "toString".
  request.Key = Object.assign(Object.create(null), request.Key);
  const before = set.readItem(table.TableName, key);
  if (request._updates) {
    const { sections } = request._updates;
    const base = before ?? request.Key ?? {};
    request._updates.sections = prepareSections(dynalite.db, sections, base);
  }
  const computed = computedPaths(request);
  const answer = dynalite.run('UpdateItem', set, request);
  const after = set.readItem(table.TableName, key) ?? {};
  checkItem(after, 'Item size to update has exceeded the maximum allowed size');
  checkIndexKeys(table, after);
  for (const path of computed) checkNumber(dynalite, path, after);
  return answer;
}

function checkItem(item: Item, tooLarge: string): void {
  if (sizeOfItem(item) > MAX_ITEM_BYTES) throw validationError(tooLarge);
  for (const value of Object.values(item)) {
    if (nestingOf(value) > MAX_NESTING) {
      throw validationError('Nesting Levels have exceeded supported limits');
    }
  }
}

function checkIndexKeys(table: Table, item: Item): void {
  for (const { index } of indexesOf(table)) {
    for (const { AttributeName: name } of index.KeySchema) {
      const value = item[name];
      if (value?.S !== '' && value?.B !== '') continue;
      const type = value.S === '' ? 'string' : 'binary';
      throw validationError(
        `One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty ${type} value. IndexName: ${index.IndexName}, IndexKey: ${name}`,
      );
    }
  }
}

/** Where an update puts the result of arithmetic. */
function computedPaths(request: DynaliteRequest): Path[] {
  const sections = request._updates?.sections ?? [];
  return sections
    .filter(({ type, val }) => type === 'add' || (val !== undefined && isArithmetic(val)))
    .map((section) => section.path);
}

function isArithmetic(value: Operand): boolean {
  return 'type' in value && (value.type === 'add' || value.type === 'subtract');
}

/** A result has the limits of a written number: 38 digits, and the range of magnitudes. */
function checkNumber(dynalite: Dynalite, path: Path, after: Item): void {
  const value = dynalite.db.mapPath(path, after);
  const wrong = value && dynalite.validateAttributeValue(value);
  if (wrong) throw validationError(wrong);
}
