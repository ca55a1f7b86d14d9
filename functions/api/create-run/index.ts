import { SQSClient } from '@aws-sdk/client-sqs';
import { engineRegistry } from '#shared/engines/index.ts';
import { systemClock } from '#shared/kit/clock.ts';
import { SqsRunQueue } from '#shared/orchestrator/sqs-run-queue.ts';
import { openLedger } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { randomIds } from '../../kit/new-ids.ts';
import { readEnv, readTiming } from '../../kit/read-env.ts';
import { createRunHandler } from './handler.ts';

const env = readEnv('TABLE_NAME', 'RUNS_QUEUE_URL', 'DEPLOYED_ENGINES');

export const handler = createRunHandler({
  ledger: openLedger(env.TABLE_NAME),
  queue: new SqsRunQueue(new SQSClient({}), env.RUNS_QUEUE_URL),
  registry: engineRegistry,
  deployed: env.DEPLOYED_ENGINES,
  timing: readTiming(),
  clock: systemClock,
  ids: randomIds,
  log: openLogger('create-run'),
});
