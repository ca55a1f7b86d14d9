import { ECSClient } from '@aws-sdk/client-ecs';
import { systemClock } from '#shared/kit/clock.ts';
import { EcsTaskControl } from '#shared/orchestrator/ecs-task-control.ts';
import { openLedger } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv, readTiming } from '../../kit/read-env.ts';
import { cancelRunsHandler } from './handler.ts';

const env = readEnv('TABLE_NAME', 'CLUSTER_ARN');

export const handler = cancelRunsHandler({
  ledger: openLedger(env.TABLE_NAME),
  launcher: new EcsTaskControl(new ECSClient({}), env.CLUSTER_ARN),
  timing: readTiming(),
  clock: systemClock,
  log: openLogger('cancel-runs'),
});
