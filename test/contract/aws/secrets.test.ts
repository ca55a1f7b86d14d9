import { afterAll, beforeAll } from 'vitest';
import { type AwsEndpoint, startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { openSecrets } from '#local/aws/secrets/secrets.ts';
import { SECRETS_DIVERGENCES } from './secrets.divergences.ts';
import { describeSecrets } from './secrets.suite.ts';

let served: AwsEndpoint | undefined;

beforeAll(async () => {
  const secrets = openSecrets({
    state: openStateDatabase(),
    region: 'us-east-1',
    accountId: '000000000000',
  });
  served = await startAwsEndpoint({ services: [secrets] });
});
afterAll(() => served?.close());

describeSecrets({
  name: 'Secrets Manager on the embedded emulator',
  side: 'embedded',
  endpoint: () => served?.url ?? '',
  divergences: SECRETS_DIVERGENCES,
});
