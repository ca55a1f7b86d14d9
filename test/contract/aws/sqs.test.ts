import { afterAll, beforeAll } from 'vitest';
import { type AwsEndpoint, startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { openSqs } from '#local/aws/sqs/sqs.ts';
import { SQS_DIVERGENCES } from './sqs.divergences.ts';
import { describeSqs } from './sqs.suite.ts';

let served: AwsEndpoint | undefined;
const endpoint = () => served?.url ?? '';

beforeAll(async () => {
  const sqs = openSqs({
    state: openStateDatabase(),
    region: 'us-east-1',
    accountId: '000000000000',
    endpointUrl: endpoint,
  });
  served = await startAwsEndpoint({ services: [sqs] });
});
afterAll(() => served?.close());

describeSqs({
  name: 'SQS on the embedded emulator',
  side: 'embedded',
  endpoint,
  divergences: SQS_DIVERGENCES,
});
