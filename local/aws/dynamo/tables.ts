import { AwsError } from '../kit/aws-error.ts';
import type { DynamoContext, Input, Operations } from './context.ts';
import { validationError } from './dynamo-error.ts';
import type { IndexDescription, StreamView, Table } from './model.ts';
import { type StoredTable, spaceOf } from './storage.ts';
import { WriteSet } from './write-set.ts';

const STREAM_VIEWS = ['KEYS_ONLY', 'NEW_IMAGE', 'OLD_IMAGE', 'NEW_AND_OLD_IMAGES'];
const DEFAULT_LIST_LIMIT = 100;

/** Tables, and what AWS answers about their backups. */
export function tableOperations(context: DynamoContext): Operations {
  return {
    CreateTable: (input) => createTable(context, input),
    DescribeTable: (input) => {
      const { TableName } = context.dynalite.parse('DescribeTable', input, requests(context));
      return { Table: describe(context, stored(context, TableName)) };
    },
    ListTables: (input) => listTables(context, input),
    UpdateTable: (input) => updateTable(context, input),
    DeleteTable: (input) => deleteTable(context, input),
    DescribeContinuousBackups: (input) => {
      stored(context, input.TableName);
      return { ContinuousBackupsDescription: backups('DISABLED') };
    },
    // There is nothing to restore from on a laptop: accepted, so that the same set-up code runs.
    UpdateContinuousBackups: (input) => {
      stored(context, input.TableName);
      const wanted = input.PointInTimeRecoverySpecification?.PointInTimeRecoveryEnabled;
      return { ContinuousBackupsDescription: backups(wanted ? 'ENABLED' : 'DISABLED') };
    },
  };
}

/** Throws ResourceNotFoundException. */
export function stored(context: DynamoContext, name: unknown): StoredTable {
  const found = typeof name === 'string' ? context.storage.table(name) : undefined;
  if (found) return found;
  throw new AwsError(
    'ResourceNotFoundException',
    `Requested resource not found: Table: ${name} not found`,
  );
}

/** Changes tables and streams in one transaction; when it fails, what is kept in memory is read again. */
export function changeTables(context: DynamoContext, change: () => void): void {
  try {
    context.storage.atomically(change);
  } catch (error) {
    context.storage.reload();
    context.streams.reload();
    throw error;
  }
}

function requests(context: DynamoContext): WriteSet {
  return new WriteSet(context.storage);
}

function createTable(context: DynamoContext, input: Input): object {
  const request = context.dynalite.parse('CreateTable', input, requests(context));
  const name = request.TableName;
  if (context.storage.table(name)) {
    throw new AwsError('ResourceInUseException', `Table already exists: ${name}`);
  }
  const view = wantedStream(input)?.view;
  const table = newTable(context, request);
  const stored: StoredTable = {
    table,
    protected: input.DeletionProtectionEnabled === true,
    ttlAttribute: undefined,
  };
  changeTables(context, () => {
    context.storage.putTable(stored);
    if (view) context.streams.enable(table, view);
    context.storage.putTags(name, input.Tags ?? []);
  });
  const answer = describe(context, stored);
  return { TableDescription: { ...answer, TableStatus: 'CREATING' } };
}

/** A table that can be used at once: on AWS that takes seconds, which callers wait for by DescribeTable. */
function newTable(context: DynamoContext, request: Input): Table {
  const { TableName, KeySchema, AttributeDefinitions } = request;
  const TableArn = `arn:aws:dynamodb:${context.region}:${context.accountId}:table/${TableName}`;
  const createdAt = context.now() / 1000;
  const described = (index: IndexDescription) => ({
    ...index,
    IndexArn: `${TableArn}/index/${index.IndexName}`,
  });
  const global = request.GlobalSecondaryIndexes?.map((index: IndexDescription) => ({
    ...described(index),
    IndexStatus: 'ACTIVE',
    ProvisionedThroughput: throughput(index.ProvisionedThroughput),
  }));
  const local = request.LocalSecondaryIndexes?.map(described);
  return {
    TableName,
    TableArn,
    TableId: context.newId(),
    TableStatus: 'ACTIVE',
    CreationDateTime: createdAt,
    KeySchema,
    AttributeDefinitions,
    ...billing(request, createdAt),
    ...(global && { GlobalSecondaryIndexes: global }),
    ...(local && { LocalSecondaryIndexes: local }),
  };
}

function billing(request: Input, changedAt: number): object {
  const onDemand = request.BillingMode === 'PAY_PER_REQUEST';
  return {
    ProvisionedThroughput: throughput(onDemand ? undefined : request.ProvisionedThroughput),
    ...(onDemand && {
      BillingModeSummary: {
        BillingMode: 'PAY_PER_REQUEST',
        LastUpdateToPayPerRequestDateTime: changedAt,
      },
    }),
  };
}

function throughput(given: unknown): object {
  const none = { ReadCapacityUnits: 0, WriteCapacityUnits: 0 };
  return { ...none, ...(given as object | undefined), NumberOfDecreasesToday: 0 };
}

/** The table as AWS describes it now. */
function describe(context: DynamoContext, { table, protected: isProtected }: StoredTable): object {
  const { storage, streams } = context;
  const stream = streams.enabledOn(table.TableName);
  const measured = (index: IndexDescription) => {
    const { count, bytes } = storage.measure(spaceOf(table.TableName, index.IndexName));
    return { ...index, ItemCount: count, IndexSizeBytes: bytes };
  };
  const { count, bytes } = storage.measure(spaceOf(table.TableName));
  return {
    ...table,
    ItemCount: count,
    TableSizeBytes: bytes,
    DeletionProtectionEnabled: isProtected,
    ...(table.GlobalSecondaryIndexes && {
      GlobalSecondaryIndexes: table.GlobalSecondaryIndexes.map(measured),
    }),
    ...(table.LocalSecondaryIndexes && {
      LocalSecondaryIndexes: table.LocalSecondaryIndexes.map(measured),
    }),
    ...(stream && {
      StreamSpecification: { StreamEnabled: true, StreamViewType: stream.view },
      LatestStreamArn: stream.arn,
      LatestStreamLabel: stream.label,
    }),
  };
}

function listTables(context: DynamoContext, input: Input): object {
  const request = context.dynalite.parse('ListTables', input, requests(context));
  const after: string = request.ExclusiveStartTableName ?? '';
  const names = context.storage.tableNames().filter((name) => name > after);
  const page = names.slice(0, request.Limit ?? DEFAULT_LIST_LIMIT);
  return {
    TableNames: page,
    ...(page.length < names.length && { LastEvaluatedTableName: page.at(-1) }),
  };
}

/** What a request wants of the table's stream; undefined when it says nothing. */
function wantedStream(input: Input): { readonly view: StreamView | undefined } | undefined {
  const specification = input.StreamSpecification;
  if (!specification) return undefined;
  const { StreamEnabled, StreamViewType } = specification;
  if (StreamEnabled && !STREAM_VIEWS.includes(StreamViewType)) {
    throw validationError(
      `One or more parameter values were invalid: StreamViewType must be one of ${STREAM_VIEWS.join(', ')} when StreamEnabled is true`,
    );
  }
  return { view: StreamEnabled ? StreamViewType : undefined };
}

/** Changes the stream, the deletion protection or the billing of a table. Indexes stay as they were created. */
function updateTable(context: DynamoContext, input: Input): object {
  if (input.GlobalSecondaryIndexUpdates?.length > 0) {
    throw validationError(
      `The local DynamoDB cannot add, change or remove indexes of an existing table: delete ${input.TableName} and create it again`,
    );
  }
  const unknownToDynalite = input.StreamSpecification ?? input.DeletionProtectionEnabled;
  const { TableName: name } = context.dynalite.parse(
    'UpdateTable',
    unknownToDynalite === undefined ? input : { ProvisionedThroughput: ANY_THROUGHPUT, ...input },
    requests(context),
  );
  const before = stored(context, name);
  const stream = wantedStream(input);
  const { BillingMode, ProvisionedThroughput } = input;
  const table: Table =
    BillingMode || ProvisionedThroughput
      ? { ...before.table, BillingModeSummary: undefined, ...billing(input, context.now() / 1000) }
      : before.table;
  const isProtected: boolean = input.DeletionProtectionEnabled ?? before.protected;
  const after: StoredTable = { ...before, table, protected: isProtected };
  changeTables(context, () => {
    context.storage.putTable(after);
    if (stream?.view) context.streams.enable(table, stream.view);
    else if (stream) context.streams.disable(name);
  });
  return { TableDescription: describe(context, after) };
}

/** Stands in for a change dynalite knows, since it rejects a request without one. */
const ANY_THROUGHPUT = { ReadCapacityUnits: 1, WriteCapacityUnits: 1 };

function deleteTable(context: DynamoContext, input: Input): object {
  const { TableName: name } = context.dynalite.parse('DeleteTable', input, requests(context));
  const before = stored(context, name);
  if (before.protected) {
    throw validationError(
      'Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.',
    );
  }
  const answer = describe(context, before);
  changeTables(context, () => {
    if (context.streams.enabledOn(name)) context.streams.disable(name);
    context.expiry.forget(name);
    context.storage.deleteTable(name);
  });
  return { TableDescription: { ...answer, TableStatus: 'DELETING' } };
}

function backups(status: 'ENABLED' | 'DISABLED'): object {
  return {
    ContinuousBackupsStatus: 'ENABLED',
    PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: status },
  };
}
