import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { PlatformError } from '#shared/contracts/index.ts';
import { backoffMs } from '#shared/kit/backoff.ts';
import { type Change, type Condition, ExpressionScope, renderChange } from './conditions.ts';

export type Item = Record<string, unknown>;
export interface Key {
  readonly pk: string;
  readonly sk: string;
}

/** A guarded write either was applied, or met an item that its condition refused (`existing`, if there was one). */
export type WriteOutcome =
  | { readonly applied: true; readonly item: Item }
  | { readonly applied: false; readonly existing: Item | undefined };

export type TransactionPart =
  | { readonly put: Item; readonly when?: Condition }
  | { readonly update: Key; readonly change: Change; readonly when?: Condition }
  | { readonly check: Key; readonly when: Condition };

/** Per part, in order: undefined when the part itself was fine, else the item that its condition refused. */
export type TransactionOutcome =
  | { readonly applied: true }
  | {
      readonly applied: false;
      readonly refused: readonly ({ readonly existing: Item | undefined } | undefined)[];
    };

export interface QueryOptions {
  readonly index?: string;
  readonly keys: Condition;
  readonly limit: number;
  readonly descending?: boolean;
  /** Not possible on an index. */
  readonly consistent?: boolean;
  readonly startAfter?: Item | undefined;
}

const CONFLICT_RETRIES = 8;

/**
 * The single table, as named guarded writes. Refused conditions are answers, not exceptions; both forms in which
 * DynamoDB reports them (one item, transaction) come back alike. A transaction that met another one is repeated
 * here; throttling is left to the SDK's retries and surfaces as `throttled`.
 */
export class Table {
  readonly #client: DynamoDBClient;
  readonly #name: string;

  constructor(client: DynamoDBClient, name: string) {
    this.#client = client;
    this.#name = name;
  }

  async get(key: Key, options: { consistent: boolean }): Promise<Item | undefined> {
    const reply = await this.#client.send(
      new GetItemCommand({
        TableName: this.#name,
        Key: toWire({ ...key }),
        ConsistentRead: options.consistent,
      }),
    );
    return reply.Item && fromWire(reply.Item);
  }

  async put(item: Item, when?: Condition): Promise<WriteOutcome> {
    try {
      await this.#client.send(
        new PutItemCommand({
          TableName: this.#name,
          Item: toWire(item),
          ...guard(when),
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      );
      return { applied: true, item };
    } catch (error) {
      return refusedOrThrow(error);
    }
  }

  async update(key: Key, change: Change, when?: Condition): Promise<WriteOutcome> {
    try {
      const reply = await this.#client.send(
        new UpdateItemCommand({
          TableName: this.#name,
          Key: toWire({ ...key }),
          ...changeAndGuard(change, when),
          ReturnValues: 'ALL_NEW',
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      );
      return { applied: true, item: fromWire(reply.Attributes ?? {}) };
    } catch (error) {
      return refusedOrThrow(error);
    }
  }

  /** All parts or none. */
  async transact(parts: readonly TransactionPart[]): Promise<TransactionOutcome> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.#client.send(
          new TransactWriteItemsCommand({ TransactItems: parts.map((part) => this.#toWire(part)) }),
        );
        return { applied: true };
      } catch (error) {
        if (!(error instanceof TransactionCanceledException)) throw toTableError(error);
        const reasons = error.CancellationReasons ?? [];
        if (reasons.some(({ Code }) => Code === 'ConditionalCheckFailed')) {
          return {
            applied: false,
            refused: reasons.map(({ Code, Item }) =>
              Code === 'ConditionalCheckFailed' ? { existing: Item && fromWire(Item) } : undefined,
            ),
          };
        }
        const passing = reasons.every(({ Code }) =>
          ['None', 'TransactionConflict', 'ThrottlingError'].includes(Code ?? 'None'),
        );
        if (!passing || attempt >= CONFLICT_RETRIES) throw toTableError(error);
        await pause(backoffMs(attempt, { baseMs: 10, maxMs: 500 }));
      }
    }
  }

  async query(options: QueryOptions): Promise<{ items: Item[]; lastKey: Item | undefined }> {
    const scope = new ExpressionScope();
    const KeyConditionExpression = options.keys(scope);
    try {
      const reply = await this.#client.send(
        new QueryCommand({
          TableName: this.#name,
          ...(options.index ? { IndexName: options.index } : {}),
          KeyConditionExpression,
          ExpressionAttributeNames: scope.names,
          ExpressionAttributeValues: toWire(scope.values),
          Limit: options.limit,
          ScanIndexForward: !options.descending,
          ConsistentRead: options.consistent ?? false,
          ...(options.startAfter ? { ExclusiveStartKey: toWire(options.startAfter) } : {}),
        }),
      );
      return {
        items: (reply.Items ?? []).map(fromWire),
        lastKey: reply.LastEvaluatedKey && fromWire(reply.LastEvaluatedKey),
      };
    } catch (error) {
      throw toTableError(error);
    }
  }

  #toWire(part: TransactionPart): TransactWriteItem {
    const TableName = this.#name;
    const ReturnValuesOnConditionCheckFailure = 'ALL_OLD' as const;
    if ('put' in part) {
      return {
        Put: {
          TableName,
          Item: toWire(part.put),
          ...guard(part.when),
          ReturnValuesOnConditionCheckFailure,
        },
      };
    }
    if ('update' in part) {
      return {
        Update: {
          TableName,
          Key: toWire({ ...part.update }),
          ...changeAndGuard(part.change, part.when),
          ReturnValuesOnConditionCheckFailure,
        },
      };
    }
    const scope = new ExpressionScope();
    const ConditionExpression = part.when(scope);
    return {
      ConditionCheck: {
        TableName,
        Key: toWire({ ...part.check }),
        ConditionExpression,
        ExpressionAttributeNames: scope.names,
        ...values(scope),
        ReturnValuesOnConditionCheckFailure,
      },
    };
  }
}

function guard(when: Condition | undefined) {
  if (!when) return {};
  const scope = new ExpressionScope();
  const ConditionExpression = when(scope);
  return { ConditionExpression, ExpressionAttributeNames: scope.names, ...values(scope) };
}

function changeAndGuard(change: Change, when: Condition | undefined) {
  const scope = new ExpressionScope();
  const UpdateExpression = renderChange(change, scope);
  const ConditionExpression = when?.(scope);
  return {
    UpdateExpression,
    ...(ConditionExpression ? { ConditionExpression } : {}),
    ExpressionAttributeNames: scope.names,
    ...values(scope),
  };
}

function values(scope: ExpressionScope) {
  return Object.keys(scope.values).length
    ? { ExpressionAttributeValues: toWire(scope.values) }
    : {};
}

function refusedOrThrow(error: unknown): WriteOutcome {
  if (error instanceof ConditionalCheckFailedException) {
    // The SDK gives the item in wire form, through the document client too.
    return { applied: false, existing: error.Item && fromWire(error.Item) };
  }
  throw toTableError(error);
}

const THROTTLES = [
  'ThrottlingException',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'TransactionConflictException',
];

function toTableError(error: unknown): unknown {
  const name = error instanceof Error ? error.name : '';
  if (THROTTLES.includes(name) || error instanceof TransactionCanceledException) {
    return new PlatformError('throttled', 'the ledger is busy; repeat after a moment', {
      sideEffects: 'maybe',
      cause: error,
    });
  }
  return error;
}

function toWire(item: Item): Record<string, AttributeValue> {
  return marshall(item, { removeUndefinedValues: true });
}

function fromWire(item: Record<string, AttributeValue>): Item {
  return unmarshall(item);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
