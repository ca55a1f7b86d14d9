import {
  CreateTableCommand,
  DescribeTableCommand,
  type DynamoDBClient,
  ResourceInUseException,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import { TABLE_SHAPE } from '#shared/topology/index.ts';
import { ignore } from './ignore.ts';

/** Makes the platform's table as {@link TABLE_SHAPE} describes it; answers the name of its stream. */
export async function makeTable(client: DynamoDBClient, tableName: string): Promise<string> {
  const { partitionKey, sortKey, indexes } = TABLE_SHAPE;
  const keys = [
    partitionKey,
    sortKey,
    ...Object.values(indexes).flatMap((index) => [index.partitionKey, index.sortKey]),
  ];
  await client
    .send(
      new CreateTableCommand({
        TableName: tableName,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: keys.map((AttributeName) => ({
          AttributeName,
          AttributeType: 'S' as const,
        })),
        KeySchema: keySchema(partitionKey, sortKey),
        GlobalSecondaryIndexes: Object.values(indexes).map((index) => ({
          IndexName: index.name,
          KeySchema: keySchema(index.partitionKey, index.sortKey),
          Projection:
            index.include.length > 0
              ? { ProjectionType: 'INCLUDE' as const, NonKeyAttributes: [...index.include] }
              : { ProjectionType: 'KEYS_ONLY' as const },
        })),
        StreamSpecification: { StreamEnabled: true, StreamViewType: TABLE_SHAPE.stream },
      }),
    )
    .catch(ignore(ResourceInUseException));
  await client
    .send(
      new UpdateTimeToLiveCommand({
        TableName: tableName,
        TimeToLiveSpecification: { Enabled: true, AttributeName: TABLE_SHAPE.timeToLive },
      }),
    )
    // AWS refuses to switch on what is on.
    .catch((error: unknown) => {
      if (!(error instanceof Error && error.name === 'ValidationException')) throw error;
    });
  const { Table } = await client.send(new DescribeTableCommand({ TableName: tableName }));
  if (!Table?.LatestStreamArn) throw new Error('the table has no stream');
  return Table.LatestStreamArn;
}

function keySchema(hash: string, range: string) {
  return [
    { AttributeName: hash, KeyType: 'HASH' as const },
    { AttributeName: range, KeyType: 'RANGE' as const },
  ];
}
