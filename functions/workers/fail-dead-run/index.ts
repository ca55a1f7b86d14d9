import { SQSClient } from '@aws-sdk/client-sqs';
import { systemClock } from '#shared/kit/clock.ts';
import { SqsRunQueue } from '#shared/orchestrator/sqs-run-queue.ts';
import { openLedger, openWaitList } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv, readTiming } from '../../kit/read-env.ts';
import { failDeadRunHandler } from './handler.ts';

const env = readEnv('TABLE_NAME', 'RUNS_QUEUE_URL');

export const handler = failDeadRunHandler({
  ledger: openLedger(env.TABLE_NAME),
  waitList: openWaitList(env.TABLE_NAME),
  queue: new SqsRunQueue(new SQSClient({}), env.RUNS_QUEUE_URL),
  timing: readTiming(),
  clock: systemClock,
  log: openLogger('fail-dead-run'),
});
