import { ECSClient } from '@aws-sdk/client-ecs';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { engineRegistry } from '#shared/engines/index.ts';
import { systemClock } from '#shared/kit/clock.ts';
import { EcsTaskLauncher } from '#shared/orchestrator/ecs-task-launcher.ts';
import { SqsRunQueue } from '#shared/orchestrator/sqs-run-queue.ts';
import { openLedger, openWaitList } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv, readTiming } from '../../kit/read-env.ts';
import { executionTokensOf } from '../../kit/secrets-reader.ts';
import { dispatchRunHandler } from './handler.ts';

const env = readEnv(
  'TABLE_NAME',
  'RUNS_QUEUE_URL',
  'CLUSTER_ARN',
  'TASK_DEFINITION_ARN',
  'TASK_CONTAINER_NAME',
  'TASK_SUBNETS',
  'TASK_SECURITY_GROUPS',
  'GATEWAY_URL',
  'SIGNING_SECRET_ID',
  'DEPLOYED_ENGINES',
  'RUN_LIMITS',
);
const executionTokens = executionTokensOf(new SecretsManagerClient({}), env.SIGNING_SECRET_ID);
const log = openLogger('dispatch-run');
const standing = {
  ledger: openLedger(env.TABLE_NAME),
  waitList: openWaitList(env.TABLE_NAME),
  queue: new SqsRunQueue(new SQSClient({}), env.RUNS_QUEUE_URL),
  launcher: new EcsTaskLauncher(new ECSClient({}), {
    clusterArn: env.CLUSTER_ARN,
    taskDefinitionArn: env.TASK_DEFINITION_ARN,
    containerName: env.TASK_CONTAINER_NAME,
    subnets: env.TASK_SUBNETS,
    securityGroups: env.TASK_SECURITY_GROUPS,
    gatewayUrl: env.GATEWAY_URL,
  }),
  registry: engineRegistry,
  deployed: env.DEPLOYED_ENGINES,
  timing: readTiming(),
  limits: env.RUN_LIMITS,
  clock: systemClock,
  log,
};

export const handler = dispatchRunHandler(
  async () => ({
    ...standing,
    tokens: await executionTokens(),
  }),
  log,
);
