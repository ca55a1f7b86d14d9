import {
  CreateTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import {
  DynamoDBStreamsClient,
  type _Record as StreamRecord,
} from '@aws-sdk/client-dynamodb-streams';
import type { DynamoDBStreamEvent } from 'aws-lambda';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openDynamo } from '#local/aws/dynamo/service.ts';
import { startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import {
  type DiscardedBatch,
  inProcess,
  type StreamSourceOptions,
  startStreamSource,
} from '#local/lambda/index.ts';

async function openTable() {
  const state = openStateDatabase();
  const endpoint = await startAwsEndpoint({ services: [await openDynamo({ state })] });
  const config = {
    endpoint: endpoint.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  };
  const dynamo = new DynamoDBClient(config);
  const streams = new DynamoDBStreamsClient(config);
  onTestFinished(async () => {
    dynamo.destroy();
    streams.destroy();
    await endpoint.close();
  });
  await dynamo.send(
    new CreateTableCommand({
      TableName: 'runs',
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
    }),
  );
  const { Table } = await dynamo.send(new DescribeTableCommand({ TableName: 'runs' }));
  const put = async (...keys: string[]) => {
    for (const pk of keys) {
      await dynamo.send(
        new PutItemCommand({
          TableName: 'runs',
          Item: { pk: { S: pk }, bytes: { B: new Uint8Array([1, 2]) } },
        }),
      );
    }
  };
  return { streams, state, put, streamArn: String(Table?.LatestStreamArn) };
}

type Table = Awaited<ReturnType<typeof openTable>>;

function start(
  table: Table,
  handler: (event: DynamoDBStreamEvent) => unknown,
  options: Partial<StreamSourceOptions> = {},
) {
  const source = startStreamSource({
    streams: table.streams,
    streamArn: table.streamArn,
    state: table.state,
    invoker: inProcess({
      name: 'workers/relay-outbox',
      timeoutMs: 30_000,
      load: async () => handler as never,
      onError: () => {},
    }),
    retryDelayMs: () => 1,
    ...options,
  });
  onTestFinished(() => source.stop());
  return source;
}

const keysOf = (event: DynamoDBStreamEvent) =>
  event.Records.map((record) => record.dynamodb?.Keys?.pk?.S);

describe('a function behind the stream of a table', () => {
  it('gets the records in the form of Lambda', async () => {
    const table = await openTable();
    const events: DynamoDBStreamEvent[] = [];
    start(table, (event) => void events.push(event));
    await table.put('a');
    await vi.waitFor(() => expect(events).toHaveLength(1));
    expect(events[0]).toEqual({
      Records: [
        {
          eventID: expect.any(String),
          eventName: 'INSERT',
          eventVersion: '1.1',
          eventSource: 'aws:dynamodb',
          awsRegion: 'us-east-1',
          eventSourceARN: table.streamArn,
          dynamodb: {
            ApproximateCreationDateTime: expect.any(Number),
            Keys: { pk: { S: 'a' } },
            NewImage: { pk: { S: 'a' }, bytes: { B: 'AQI=' } },
            SequenceNumber: expect.stringMatching(/^\d+$/),
            SizeBytes: expect.any(Number),
            StreamViewType: 'NEW_AND_OLD_IMAGES',
          },
        },
      ],
    });
  });

  it('gets every record once and in order, in batches', async () => {
    const table = await openTable();
    const keys = Array.from({ length: 25 }, (_, index) => `key-${index}`);
    const seen: unknown[] = [];
    const sizes: number[] = [];
    start(
      table,
      (event) => {
        seen.push(...keysOf(event));
        sizes.push(event.Records.length);
      },
      { batchSize: 10 },
    );
    await table.put(...keys);
    await vi.waitFor(() => expect(seen.length).toBeGreaterThanOrEqual(keys.length), 10_000);
    expect(seen).toEqual(keys);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(10);
  });

  it('goes on after a restart where it stopped, retrying what was not done', async () => {
    const table = await openTable();
    const first: unknown[] = [];
    const failing = Promise.withResolvers<void>();
    const source = start(
      table,
      (event) => {
        if (keysOf(event).includes('b')) {
          failing.resolve();
          throw new Error('not yet');
        }
        first.push(...keysOf(event));
      },
      { batchSize: 1 },
    );
    await table.put('a', 'b');
    await failing.promise;
    await source.stop();
    expect(first).toEqual(['a']);

    await table.put('c');
    const second: unknown[] = [];
    start(table, (event) => void second.push(...keysOf(event)));
    await vi.waitFor(() => expect(second).toHaveLength(2));
    expect(second).toEqual(['b', 'c']);
  });

  it('gives up one poison record, tells of it, and keeps the rest in order', async () => {
    const table = await openTable();
    const seen: unknown[] = [];
    const discarded: DiscardedBatch[] = [];
    await table.put('a', 'poison', 'b', 'c');
    start(
      table,
      (event) => {
        if (keysOf(event).includes('poison')) throw new Error('cannot read it');
        seen.push(...keysOf(event));
      },
      {
        bisectBatchOnFunctionError: true,
        maxRetryAttempts: 2,
        onFailure: (batch) => discarded.push(batch),
      },
    );
    await vi.waitFor(() => expect(seen).toEqual(['a', 'b', 'c']));
    expect(discarded).toMatchObject([
      {
        requestContext: {
          condition: 'RetryAttemptsExhausted',
          functionArn: 'arn:aws:lambda:us-east-1:000000000000:function:workers/relay-outbox',
        },
        DDBStreamBatchInfo: { batchSize: 1, streamArn: table.streamArn },
      },
    ]);
  });

  it('is not told of what its filter passes over, and goes on behind it after a restart', async () => {
    const table = await openTable();
    const wanted = ({ dynamodb }: StreamRecord) => dynamodb?.Keys?.pk?.S?.startsWith('w') ?? false;
    const first: unknown[] = [];
    const source = start(table, (event) => void first.push(...keysOf(event)), { filter: wanted });
    await table.put('a', 'w1', 'b', 'w2', 'c');
    await vi.waitFor(() => expect(first).toEqual(['w1', 'w2']));
    await source.stop();
    const second: unknown[] = [];
    start(table, (event) => void second.push(...keysOf(event)));
    await table.put('d');
    await vi.waitFor(() => expect(second).toContain('d'));
    expect(second.filter((key) => key !== 'c')).toEqual(['d']);
  });

  it('is woken by notify, however rarely it would look by itself', async () => {
    const table = await openTable();
    const seen: unknown[] = [];
    const source = start(table, (event) => void seen.push(...keysOf(event)), {
      idlePollMs: 1e6,
    });
    await table.put('a');
    await vi.waitFor(() => {
      source.notify();
      expect(seen).toEqual(['a']);
    });
    await table.put('b');
    await vi.waitFor(() => {
      source.notify();
      expect(seen).toEqual(['a', 'b']);
    });
  });
});
