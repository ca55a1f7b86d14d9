import {
  type AttributeValue,
  CreateTableCommand,
  DeleteItemCommand,
  type DeleteItemCommandInput,
  DeleteTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  type PutItemCommandInput,
  QueryCommand,
  type QueryCommandInput,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  type UpdateItemCommandInput,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { expect } from 'vitest';
import type { ContractIt } from '../divergences.ts';

/** An endpoint to reach over a socket, or clients that need none. */
export type Target = string | ReturnType<typeof clientsFor>;

/** What every part of the suite is given. */
export interface DynamoPart {
  readonly it: ContractIt;
  readonly target: () => Target;
}

export type Row = Record<string, unknown>;
type Extra<T> = Partial<Omit<T, 'TableName' | 'Key' | 'Item' | 'ExpressionAttributeValues'>> & {
  readonly values?: Row;
};

/** Clients for one endpoint. One attempt each: a retry would hide what a call did. */
export function clientsFor(endpoint: string) {
  const options = {
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 1,
  };
  return { dynamo: new DynamoDBClient(options), streams: new DynamoDBStreamsClient(options) };
}

/** Rows as DynamoDB stores them; `undefined` values are left out. */
export function wire(row: Row): Record<string, AttributeValue> {
  return marshall(row, { removeUndefinedValues: true });
}

export function plain(item: Record<string, AttributeValue> | undefined): Row | undefined {
  return item && unmarshall(item);
}

function withValues({ values, ...extra }: { values?: Row }): Row {
  return { ...extra, ...(values && { ExpressionAttributeValues: wire(values) }) };
}

let tables = 0;

/**
 * A table `pk`/`sk` with what the platform's table has: `byOwner` (owner, at: all attributes), the sparse
 * `byDue` (due, dueAt as a number: includes only `state`), and a stream of both images.
 */
export class TestTable {
  readonly name = `contract-${process.pid}-${++tables}`;
  readonly dynamo: DynamoDBClient;
  readonly streams: DynamoDBStreamsClient;
  streamArn = '';

  constructor(target: Target) {
    const { dynamo, streams } = typeof target === 'string' ? clientsFor(target) : target;
    this.dynamo = dynamo;
    this.streams = streams;
  }

  async create(): Promise<this> {
    const types = { pk: 'S', sk: 'S', owner: 'S', at: 'S', due: 'S', dueAt: 'N' } as const;
    const { TableDescription } = await this.dynamo.send(
      new CreateTableCommand({
        TableName: this.name,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: keySchema('pk', 'sk'),
        AttributeDefinitions: Object.entries(types).map(([AttributeName, AttributeType]) => ({
          AttributeName,
          AttributeType,
        })),
        GlobalSecondaryIndexes: [
          {
            IndexName: 'byOwner',
            KeySchema: keySchema('owner', 'at'),
            Projection: { ProjectionType: 'ALL' },
          },
          {
            IndexName: 'byDue',
            KeySchema: keySchema('due', 'dueAt'),
            Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['state'] },
          },
        ],
        StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
      }),
    );
    this.streamArn = TableDescription?.LatestStreamArn ?? '';
    await waitUntilTableExists(
      { client: this.dynamo, maxWaitTime: 30, minDelay: 1, maxDelay: 1 },
      { TableName: this.name },
    );
    return this;
  }

  async drop(): Promise<void> {
    await this.dynamo.send(new DeleteTableCommand({ TableName: this.name }));
    this.dynamo.destroy();
    this.streams.destroy();
  }

  put(row: Row, extra: Extra<PutItemCommandInput> = {}) {
    return this.dynamo.send(
      new PutItemCommand({ TableName: this.name, Item: wire(row), ...withValues(extra) }),
    );
  }

  async get(pk: string, sk: string): Promise<Row | undefined> {
    const { Item } = await this.dynamo.send(
      new GetItemCommand({ TableName: this.name, Key: wire({ pk, sk }), ConsistentRead: true }),
    );
    return plain(Item);
  }

  update(
    pk: string,
    sk: string,
    UpdateExpression: string,
    extra: Extra<UpdateItemCommandInput> = {},
  ) {
    return this.dynamo.send(
      new UpdateItemCommand({
        TableName: this.name,
        Key: wire({ pk, sk }),
        UpdateExpression,
        ...withValues(extra),
      }),
    );
  }

  delete(pk: string, sk: string, extra: Extra<DeleteItemCommandInput> = {}) {
    return this.dynamo.send(
      new DeleteItemCommand({ TableName: this.name, Key: wire({ pk, sk }), ...withValues(extra) }),
    );
  }

  async query(KeyConditionExpression: string, extra: Extra<QueryCommandInput> = {}) {
    const answer = await this.dynamo.send(
      new QueryCommand({ TableName: this.name, KeyConditionExpression, ...withValues(extra) }),
    );
    return { ...answer, rows: (answer.Items ?? []).map((item) => unmarshall(item)) };
  }

  transact(TransactItems: TransactWriteItem[], ClientRequestToken?: string) {
    return this.dynamo.send(new TransactWriteItemsCommand({ TransactItems, ClientRequestToken }));
  }

  /** Operations of a transaction. */
  readonly op = {
    put: (row: Row, extra: Extra<PutItemCommandInput> = {}): TransactWriteItem => ({
      Put: { TableName: this.name, Item: wire(row), ...withValues(extra) },
    }),
    update: (
      pk: string,
      sk: string,
      UpdateExpression: string,
      extra: Extra<UpdateItemCommandInput> = {},
    ): TransactWriteItem => ({
      Update: {
        TableName: this.name,
        Key: wire({ pk, sk }),
        UpdateExpression,
        ...withValues(extra),
      },
    }),
    delete: (pk: string, sk: string, extra: Extra<DeleteItemCommandInput> = {}) => ({
      Delete: { TableName: this.name, Key: wire({ pk, sk }), ...withValues(extra) },
    }),
    check: (
      pk: string,
      sk: string,
      ConditionExpression: string,
      extra: Extra<DeleteItemCommandInput> = {},
    ): TransactWriteItem => ({
      ConditionCheck: {
        TableName: this.name,
        Key: wire({ pk, sk }),
        ConditionExpression,
        ...withValues(extra),
      },
    }),
  };
}

export function keySchema(hash: string, range?: string) {
  const keys = [{ AttributeName: hash, KeyType: 'HASH' as const }];
  return range ? [...keys, { AttributeName: range, KeyType: 'RANGE' as const }] : keys;
}

// biome-ignore lint/suspicious/noExplicitAny: an SDK error of a type the test names
export type SdkError = Error & Record<string, any>;

/** The error of a call that has to fail with this name. */
export async function failure(call: Promise<unknown>, name: string): Promise<SdkError> {
  const outcome = await call.then(
    () => 'succeeded',
    (error: SdkError) => error,
  );
  if (typeof outcome === 'string') expect.fail(`the call ${outcome}, ${name} was expected`);
  expect(outcome.name, outcome.message).toBe(name);
  return outcome;
}
