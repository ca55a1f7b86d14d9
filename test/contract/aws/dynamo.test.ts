import { afterAll, beforeAll } from 'vitest';
import { openDynamo } from '#local/aws/dynamo/service.ts';
import { type AwsEndpoint, startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { DYNAMO_DIVERGENCES } from './dynamo.divergences.ts';
import { describeDynamo } from './dynamo.suite.ts';

let served: AwsEndpoint | undefined;
beforeAll(async () => {
  const dynamo = await openDynamo({ state: openStateDatabase(), ttlSweepMs: 20 });
  served = await startAwsEndpoint({ services: [dynamo] });
});
afterAll(() => served?.close());

describeDynamo({
  name: 'DynamoDB on the embedded emulator',
  side: 'embedded',
  target: () => served?.url ?? '',
  divergences: DYNAMO_DIVERGENCES,
});
