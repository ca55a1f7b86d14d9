import { setTimeout as wait } from 'node:timers/promises';
import { ECSClient } from '@aws-sdk/client-ecs';
import { SQSClient } from '@aws-sdk/client-sqs';
import { systemClock } from '#shared/kit/clock.ts';
import { EcsTaskControl } from '#shared/orchestrator/ecs-task-control.ts';
import { openSweeper, orphanTasksChore, reconcileQuotasChore } from '#shared/orchestrator/index.ts';
import { SqsRunQueue } from '#shared/orchestrator/sqs-run-queue.ts';
import { openLedger, openWaitList } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv, readTiming } from '../../kit/read-env.ts';
import { sweepDueRunsHandler } from './handler.ts';

const env = readEnv('TABLE_NAME', 'RUNS_QUEUE_URL', 'CLUSTER_ARN');
const deps = {
  ledger: openLedger(env.TABLE_NAME),
  waitList: openWaitList(env.TABLE_NAME),
  queue: new SqsRunQueue(new SQSClient({}), env.RUNS_QUEUE_URL),
  launcher: new EcsTaskControl(new ECSClient({}), env.CLUSTER_ARN),
  timing: readTiming(),
  clock: systemClock,
  wait: (ms: number) => wait(ms),
  log: openLogger('sweep-due-runs'),
};

export const handler = sweepDueRunsHandler(
  openSweeper(deps, [orphanTasksChore(deps), reconcileQuotasChore(deps)]),
  deps.log,
);
