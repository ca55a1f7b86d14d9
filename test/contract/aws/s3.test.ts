import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type AwsEndpoint, startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { openS3 } from '#local/aws/s3/s3.ts';
import { S3_DIVERGENCES } from './s3.divergences.ts';
import { describeS3 } from './s3.suite.ts';

let served: AwsEndpoint | undefined;
let dataDir = '';

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'nexusdesk-s3-'));
  const fallback = openS3({ state: openStateDatabase(), dataDir });
  served = await startAwsEndpoint({ services: [], fallback });
});
afterAll(async () => {
  await served?.close();
  await rm(dataDir, { recursive: true, force: true });
});

describeS3({
  name: 'S3 on the embedded emulator',
  side: 'embedded',
  endpoint: () => served?.url ?? '',
  divergences: S3_DIVERGENCES,
});
