import { AwsError } from '../kit/aws-error.ts';
import { transactionReadCapacity, writeCapacity } from './capacity.ts';
import type { DynamoContext, Input, Operations } from './context.ts';
import type { DynaliteRequest } from './dynalite-types.ts';
import { validationError } from './dynamo-error.ts';
import { applyWrite, type ParsedWrite, parseWrite } from './item-write.ts';
import { type Item, primaryKeyOf } from './model.ts';
import type { TransactionTokens } from './transaction-tokens.ts';
import { itemSize, sizeOfItem } from './values.ts';
import { WriteSet } from './write-set.ts';

const MAX_OPERATIONS = 100;
const MAX_TRANSACTION_BYTES = 4 * 1024 * 1024;
const WRITES = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: 'ConditionCheck',
} as const;

/** TransactWriteItems and TransactGetItems. */
export function transactionOperations(
  context: DynamoContext,
  tokens: TransactionTokens,
): Operations {
  return {
    TransactWriteItems: (input) => transactWrite(context, tokens, input),
    TransactGetItems: (input) => transactGet(context, input),
  };
}

/** One per operation, in the order of the request. */
interface CancellationReason {
  readonly Code: string;
  readonly Message?: string;
  readonly Item?: unknown;
}

function transactWrite(context: DynamoContext, tokens: TransactionTokens, input: Input): object {
  const { dynalite, storage, commit } = context;
  const operations = operationsOf(input);
  const token = tokens.check(input.ClientRequestToken, operations);
  if (token === 'repeated') return {};
  const set = new WriteSet(storage);
  const writes = operations.map((operation) => parseOperation(context, operation, set));
  checkDistinct(
    context,
    set,
    writes.map((write) => write.request),
  );
  checkSize(writes);
  runAll(writes, (write) => applyWrite(dynalite, write, set));
  const changes = set.changes();
  commit(changes, token && { also: () => tokens.remember(token) });
  const ConsumedCapacity = writeCapacity(dynalite.db, changes, input.ReturnConsumedCapacity, 2);
  return { ConsumedCapacity };
}

function parseOperation(context: DynamoContext, operation: Input, set: WriteSet): ParsedWrite {
  const [entry, ...more] = Object.entries(operation).filter(([, value]) => value != null);
  const kind = entry?.[0];
  if (!entry || more.length > 0 || !isWriteKind(kind)) {
    throw validationError('TransactItems can only contain one of Check, Put, Update or Delete');
  }
  const required = { ConditionCheck: 'ConditionExpression', Update: 'UpdateExpression' }[
    kind as string
  ];
  if (required && entry[1][required] == null) {
    throw validationError(
      `1 validation error detected: Value null at '${kind}.${required}' failed to satisfy constraint: Member must not be null`,
    );
  }
  return parseWrite(context.dynalite, WRITES[kind], entry[1], set);
}

function isWriteKind(kind: string | undefined): kind is keyof typeof WRITES {
  return kind !== undefined && Object.hasOwn(WRITES, kind);
}

function transactGet(context: DynamoContext, input: Input): object {
  const { dynalite, storage } = context;
  const set = new WriteSet(storage);
  const requests = operationsOf(input).map((operation) => {
    if (!operation.Get) throw validationError('TransactItems can only contain Get operations');
    return dynalite.parse('GetItem', operation.Get, set);
  });
  checkDistinct(context, set, requests);
  const reads: { table: string; item: Item | undefined }[] = [];
  const answers = runAll(requests, (request) => {
    const answer = dynalite.run('GetItem', set, request);
    const table = set.table(request.TableName);
    const key = dynalite.db.createKey(request.Key ?? {}, table);
    reads.push({ table: request.TableName, item: set.readItem(request.TableName, key) });
    return answer.Item ? { Item: answer.Item } : {};
  });
  const ConsumedCapacity = transactionReadCapacity(reads, input.ReturnConsumedCapacity);
  return { Responses: answers, ConsumedCapacity };
}

function operationsOf(input: Input): Input[] {
  const operations: unknown = input.TransactItems;
  const count = Array.isArray(operations) ? operations.length : 0;
  if (!Array.isArray(operations) || count < 1 || count > MAX_OPERATIONS) {
    const bound =
      count < 1 ? 'greater than or equal to 1' : `less than or equal to ${MAX_OPERATIONS}`;
    throw validationError(
      `1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length ${bound}`,
    );
  }
  return operations;
}

/** Throws ResourceNotFoundException, too. A key that does not fit its table is left for its operation to report. */
function checkDistinct(
  { dynalite }: DynamoContext,
  set: WriteSet,
  requests: readonly DynaliteRequest[],
): void {
  const seen = new Set<string>();
  for (const request of requests) {
    const table = set.table(request.TableName);
    const key = primaryKeyOf(table, request.Key ?? request.Item ?? {});
    if (dynalite.db.validateKey(key, table)) continue;
    const id = `${request.TableName}~${dynalite.db.createKey(key, table)}`;
    if (seen.has(id)) {
      throw validationError('Transaction request cannot include multiple operations on one item');
    }
    seen.add(id);
  }
}

function checkSize(writes: readonly ParsedWrite[]): void {
  const bytes = writes.reduce((total, { request }) => {
    const values: Item = request.ExpressionAttributeValues ?? {};
    return total + sizeOfItem(request.Item ?? request.Key ?? {}) + itemSize(values);
  }, 0);
  if (bytes > MAX_TRANSACTION_BYTES) {
    throw validationError('Transaction request size cannot exceed 4 MB');
  }
}

/** Runs every operation, so that each gets its reason, and throws TransactionCanceledException if any failed. */
function runAll<T, R>(operations: readonly T[], run: (operation: T) => R): R[] {
  const results: R[] = [];
  const reasons: CancellationReason[] = [];
  for (const operation of operations) {
    try {
      results.push(run(operation));
      reasons.push({ Code: 'None' });
    } catch (error) {
      reasons.push(reasonOf(error));
    }
  }
  if (results.length === operations.length) return results;
  const codes = reasons.map((reason) => reason.Code).join(', ');
  throw new AwsError(
    'TransactionCanceledException',
    `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
    { extra: { CancellationReasons: reasons } },
  );
}

/** A fault of ours, or a missing table, is no reason but the whole answer. */
function reasonOf(error: unknown): CancellationReason {
  if (!(error instanceof AwsError)) throw error;
  const Message = error.message;
  switch (error.type) {
    case 'ConditionalCheckFailedException':
      return { Code: 'ConditionalCheckFailed', Message, ...error.extra };
    case 'ValidationException':
      return { Code: 'ValidationError', Message };
    default:
      throw error;
  }
}
