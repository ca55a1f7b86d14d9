import {
  type AttributeValue,
  BatchGetItemCommand,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { backoffMs } from '#shared/kit/backoff.ts';
import { type Change, type Condition, ExpressionScope } from './conditions.ts';
import { toTableError } from './table-error.ts';
import { changeAndGuard, fromWire, guard, type Item, toWire, values } from './wire.ts';

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
  /** What is read and refused counts against `limit` all the same. Not on the keys of what is queried. */
  readonly filter?: Condition;
  readonly limit: number;
  readonly descending?: boolean;
  /** Not possible on an index. */
  readonly consistent?: boolean;
  readonly startAfter?: Item | undefined;
}

const CONFLICT_RETRIES = 8;
/** A cancellation for these alone says nothing about the conditions (B86): the same transaction is tried again. */
const PASSING_REASONS = [
  'None',
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
];
/** Most keys of one BatchGetItem. */
const BATCH_KEYS = 100;
const BATCH_TRIES = 8;

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
    try {
      const reply = await this.#client.send(
        new GetItemCommand({
          TableName: this.#name,
          Key: toWire({ ...key }),
          ConsistentRead: options.consistent,
        }),
      );
      return reply.Item && fromWire(reply.Item);
    } catch (error) {
      throw toTableError(error);
    }
  }

  /** The items of these keys, in their order; undefined for those that are not there. Any number of keys. */
  async getMany(
    keys: readonly Key[],
    options: { consistent: boolean },
  ): Promise<(Item | undefined)[]> {
    const found = new Map<string, Item>();
    const wanted = [...new Map(keys.map((key) => [nameOf(key), key])).values()];
    for (let from = 0; from < wanted.length; from += BATCH_KEYS) {
      for (const item of await this.#getBatch(wanted.slice(from, from + BATCH_KEYS), options)) {
        found.set(nameOf(item), item);
      }
    }
    return keys.map((key) => found.get(nameOf(key)));
  }

  /** An answer may leave keys out (size, throttling): they are asked for again, with a growing wait. */
  async #getBatch(keys: readonly Key[], options: { consistent: boolean }): Promise<Item[]> {
    const items: Item[] = [];
    let pending: Record<string, AttributeValue>[] = keys.map((key) => toWire({ ...key }));
    for (let attempt = 0; pending.length > 0; attempt += 1) {
      const asked = pending.length;
      try {
        const reply = await this.#client.send(
          new BatchGetItemCommand({
            RequestItems: {
              [this.#name]: { Keys: pending, ConsistentRead: options.consistent },
            },
          }),
        );
        items.push(...(reply.Responses?.[this.#name] ?? []).map(fromWire));
        pending = reply.UnprocessedKeys?.[this.#name]?.Keys ?? [];
      } catch (error) {
        throw toTableError(error);
      }
      if (pending.length === 0) break;
      if (attempt + 1 >= BATCH_TRIES) throw toTableError(new UnprocessedKeys(pending.length));
      // A part of the answer came: the rest is over its size limit, not refused for being too much.
      if (pending.length === asked) await pause(backoffMs(attempt, { baseMs: 20, maxMs: 500 }));
    }
    return items;
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

  /** Nothing happens when there is no such item. */
  async delete(key: Key): Promise<void> {
    try {
      await this.#client.send(
        new DeleteItemCommand({ TableName: this.#name, Key: toWire({ ...key }) }),
      );
    } catch (error) {
      throw toTableError(error);
    }
  }

  /** All parts or none. One token for all that is sent here: what landed and is sent again lands once (B95). */
  async transact(parts: readonly TransactionPart[]): Promise<TransactionOutcome> {
    const ClientRequestToken = crypto.randomUUID();
    const TransactItems = parts.map((part) => this.#toWire(part));
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.#client.send(
          new TransactWriteItemsCommand({ TransactItems, ClientRequestToken }),
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
        const passing = reasons.every(({ Code }) => PASSING_REASONS.includes(Code ?? 'None'));
        if (!passing || attempt >= CONFLICT_RETRIES) throw toTableError(error);
        await pause(backoffMs(attempt, { baseMs: 10, maxMs: 500 }));
      }
    }
  }

  async query(options: QueryOptions): Promise<{ items: Item[]; lastKey: Item | undefined }> {
    const scope = new ExpressionScope();
    const KeyConditionExpression = options.keys(scope);
    const FilterExpression = options.filter?.(scope);
    try {
      const reply = await this.#client.send(
        new QueryCommand({
          TableName: this.#name,
          ...(options.index ? { IndexName: options.index } : {}),
          KeyConditionExpression,
          ...(FilterExpression ? { FilterExpression } : {}),
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

function refusedOrThrow(error: unknown): WriteOutcome {
  if (error instanceof ConditionalCheckFailedException) {
    // The SDK gives the item in wire form, through the document client too.
    return { applied: false, existing: error.Item && fromWire(error.Item) };
  }
  throw toTableError(error);
}

const nameOf = (key: Item | Key): string => `${key.pk} ${key.sk}`;

class UnprocessedKeys extends Error {
  constructor(count: number) {
    super(`${count} keys stayed unread`);
    this.name = 'ProvisionedThroughputExceededException';
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
