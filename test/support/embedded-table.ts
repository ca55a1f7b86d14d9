import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { openDynamo } from '#local/aws/dynamo/service.ts';
import { startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { makeTable } from '#local/stack/make-table.ts';
import { Table } from '#shared/table/index.ts';

/** The platform's table on the embedded DynamoDB, over a real socket and the real SDK. In memory, one per suite. */
export async function openEmbeddedTable(): Promise<{
  table: Table;
  client: DynamoDBClient;
  name: string;
  close(): Promise<void>;
}> {
  const state = openStateDatabase();
  const dynamo = await openDynamo({ state, ttlSweepMs: 0 });
  const endpoint = await startAwsEndpoint({ services: [dynamo] });
  const client = new DynamoDBClient({
    endpoint: endpoint.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  const name = 'nexusdesk';
  await makeTable(client, name);
  return {
    table: new Table(client, name),
    client,
    name,
    async close() {
      client.destroy();
      await endpoint.close();
      state.close();
    },
  };
}
