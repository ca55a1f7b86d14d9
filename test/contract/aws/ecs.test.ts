import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ECSClient } from '@aws-sdk/client-ecs';
import { afterAll, beforeAll } from 'vitest';
import { type Ecs, openEcs } from '#local/aws/ecs/index.ts';
import { type AwsEndpoint, startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { ECS_DIVERGENCES } from './ecs.divergences.ts';
import { describeEcs } from './ecs.suite.ts';

const dir = mkdtempSync(join(tmpdir(), 'ecs-contract-'));
let ecs: Ecs;
let endpoint: AwsEndpoint;
let client: ECSClient;

beforeAll(async () => {
  ecs = openEcs({
    state: openStateDatabase(),
    region: 'us-east-1',
    accountId: '000000000000',
    images: () => ({ command: ['/bin/sh', '-c', 'sleep 1000; true'], cwd: dir }),
    baseEnv: { PATH: '/usr/bin:/bin' },
    logDir: join(dir, 'logs'),
    emit: () => {},
  });
  endpoint = await startAwsEndpoint({ services: [ecs] });
  client = new ECSClient({
    endpoint: endpoint.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
});

afterAll(async () => {
  await ecs.shutdown({ graceMs: 0 });
  await endpoint.close();
  rmSync(dir, { recursive: true, force: true });
});

describeEcs({
  name: 'ECS on the embedded emulator',
  side: 'embedded',
  divergences: ECS_DIVERGENCES,
  client: () => client,
  subnet: async () => 'subnet-1',
});
